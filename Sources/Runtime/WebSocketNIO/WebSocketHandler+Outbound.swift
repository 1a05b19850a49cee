import DequeModule
import MachineCore
import NIOCore
import WebSocketCore
import WebSocketRuntime

extension WebSocketHandler {
    static let batchSize = 64 * 1024
    /// From so many bytes of long messages on a flush does not wait for the end of the turn.
    static let flushSize = 128 * 1024

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        isBlocked = !context.channel.isWritable
        if isBlocked {
            startStall()
        } else {
            stalledUntil = nil
            activeAt = .now()
            drain()
            if let inline, wantsRoom.take() { calling { inline.handler.writable(inline.socket) } }
            flush()
            if survivor != nil, !isCalling { return transportEnded() }
            if inline != nil, isPaused, !isInTurn { resumeReading() }
        }
        context.fireChannelWritabilityChanged()
    }

    /// The socket takes nothing more, or only now took something again: from here on the peer is measured.
    func startStall() {
        stalledUntil = settings.stallTimeout.map { now + $0 }
        setAlarm()
    }

    /// A task has sent something.
    func noteWork() {
        hasWork = true
        flushLater()
    }

    /// There is something to write: at the end of the turn, if there is one.
    func flushLater() {
        guard !isInTurn, !awaitsFlush else { return }
        awaitsFlush = true
        local.flushLater(self)
    }

    /// Writes what was sent outside a turn of this connection.
    func writeOffTurn() {
        (awaitsFlush, filledBuffers) = (false, 0)
        drain()
        flush()
        if inline != nil, isPaused, closing.isClosing { resumeReading() }
    }

    /// Writes what waits to be sent, as long as the socket takes it.
    func drain() {
        guard context != nil else { return }
        while !isBlocked, !isCloseFrameSent {
            if longFrame != nil {
                writePart()
            } else {
                writeOwed()
                if let entry = queued.popFirst() {
                    write(entry)
                } else if hasWork {
                    takeQueued()
                } else {
                    return writeCloseFrame()
                }
            }
            guard out.count >= Self.batchSize else { continue }
            // A socket says how much it holds before it is flushed, so that two parts leave in one call; TLS says it only then.
            if sharesReads { writeOut() } else { flush() }
        }
    }

    /// Answers a ping, ahead of the app; when the peer does not read, only its latest (RFC 6455 §5.5.3).
    func pong(_ payload: [UInt8]) {
        guard context != nil, !isCloseFrameSent else { return }
        if isBlocked || longFrame != nil { owedPong = payload } else { writer.writeControl(.pong, payload, into: &out) }
    }

    /// Sends a ping, ahead of the messages that wait.
    func ping(_ payload: [UInt8]) {
        guard !isCloseFrameSent else { return }
        if longFrame != nil { return owedPings.append(payload) }
        writer.writeControl(.ping, payload, into: &out)
        pingsInOut.append(payload)
    }

    /// One flush for everything that a turn wrote.
    ///
    /// While the channel holds as much as it should, what is written waits here, where it counts.
    func flush() {
        if !isBlocked { writeOut() }
        meter.tell(traffic)  // First: an answer may be here before the call returns.
        guard needsFlush else { return }
        (needsFlush, unflushed) = (false, 0)
        context?.flush()
    }

    /// What could not come between the parts of a message.
    private func writeOwed() {
        if let payload = owedPong.take() { writer.writeControl(.pong, payload, into: &out) }
        guard !owedPings.isEmpty else { return }
        for payload in owedPings { ping(payload) }
        owedPings = []
    }

    private func takeQueued() {
        hasWork = false  // First: a sender that this lets in says so at once.
        queued = outbound.take(upTo: Self.batchSize) {
            guard encoder.byteCount > 0 else { return }
            traffic.messagesOut += encoder.messages
            traffic.payloadOut += encoder.payload
            var frames = encoder.take()
            if out.isEmpty { out = frames } else { out.write(frames.take()) }
        }
        if !queued.isEmpty { hasWork = true }
    }

    private func write(_ entry: OutboundQueue.Entry) {
        if !out.hasMemory { out = local.takeOutput() }
        count(entry)
        switch entry {
        case .message(let message) where message.byteCount > FrameEncoder.largest && !writer.compresses(message.byteCount):
            longFrame = LongFrame(message, header: writer.header(message.opcode, payloadLength: message.byteCount), into: &out)
        case .message(let message): writer.write(message, into: &out)
        case .chunk(let chunk, let isFirst):
            writer.write(chunk, isFirst: isFirst, into: &out)
        case .mark(let mark): write(mark)
        }
    }

    /// Asks to be told when the socket has all that was written so far.
    private func write(_ mark: UInt64) {
        writeOut()
        guard let context else { return }
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenSuccess { [outbound] in outbound.wrote(mark) }
        // Without a byte of its own it is done when all before it is, whether or not that went through TLS.
        context.write(wrapOutboundOut(ByteBuffer()), promise: written)
        needsFlush = true
    }

    private func count(_ entry: OutboundQueue.Entry) {
        switch entry {
        case .message(let message):
            traffic.messagesOut += 1
            traffic.payloadOut += message.byteCount
        case .chunk(let chunk, _):
            traffic.messagesOut += chunk.isLast ? 1 : 0
            traffic.payloadOut += chunk.bytes.count
        case .mark: break
        }
    }

    private func writePart() {
        if !out.hasMemory { out = local.takeOutput() }
        let isLast = longFrame?.write(upTo: Self.batchSize - min(out.count, Self.batchSize / 2), into: &out)
        guard isLast != false else { return }
        if let storage = longFrame?.takeStorage() { local.give(storage: storage) }
        longFrame = nil
    }

    /// The close frame follows what was accepted for sending; nothing follows the close frame (RFC 6455 §5.5.1).
    private func writeCloseFrame() {
        guard let frame = closeFrameToSend.take() else { return }
        isCloseFrameSent = true
        writer.writeControl(.close, frame.payload, into: &out)
        writeOut()
        if endsOutput { endOutput() }
    }

    /// Ends our side of TCP; what still arrives is discarded.
    func endOutput() {
        guard isCloseFrameSent, let context else { return endsOutput = true }
        flush()
        let promise = context.eventLoop.makePromise(of: Void.self)
        promise.futureResult.assumeIsolated().whenFailure { _ in context.close(promise: nil) }
        context.close(mode: .output, promise: promise)
    }

    /// The peer took a part of a large message.
    private func noteProgress() {
        if stalledUntil != nil { startStall() }
        activeAt = .now()
    }

    func writeOut() {
        guard !out.isEmpty, let context else { return }
        var written: EventLoopPromise<Void>?
        if !pingsInOut.isEmpty {
            let pings = pingsInOut
            pingsInOut = []
            written = context.eventLoop.makePromise()
            written?.futureResult.assumeIsolated().whenSuccess {
                for ping in pings { self.feedHeartbeat(.written(ping)) }
            }
        }
        traffic.bytesOut += out.count
        let bytes = out.take()
        local.give(output: bytes)
        writeInParts(bytes, context, written)
    }

    /// Writes by parts, so that a peer that takes long over a large message is seen to take it.
    func writeInParts(_ bytes: ByteBuffer, _ context: ChannelHandlerContext, _ written: EventLoopPromise<Void>? = nil) {
        var rest = bytes
        while rest.readableBytes > 2 * Self.batchSize, let part = rest.readSlice(length: Self.batchSize) { write(part) }
        if written == nil, isBlocked { return write(rest) }
        context.write(wrapOutboundOut(rest), promise: written)
        needsFlush = true
    }

    /// Writes a part of something large.
    func write(_ part: ByteBuffer) {
        guard let context else { return }
        let taken = context.eventLoop.makePromise(of: Void.self)
        taken.futureResult.assumeIsolated().whenSuccess { self.noteProgress() }
        context.write(wrapOutboundOut(part), promise: taken)
        needsFlush = true
    }
}

extension Bool {
    /// Resets it, and says what it was.
    mutating func take() -> Bool {
        defer { self = false }
        return self
    }
}
