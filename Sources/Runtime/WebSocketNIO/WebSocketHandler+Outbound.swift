import DequeModule
import MachineCore
import NIOCore
import WebSocketCore
import WebSocketRuntime

extension WebSocketHandler {
    static let batchSize = 64 * 1024
    /// The number of bytes of long messages from which a flush does not wait for the end of the turn.
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

    /// Starts the stall timeout: the socket accepts no more data, or has only now accepted some again.
    func startStall() {
        stalledUntil = settings.stallTimeout.map { now + $0 }
        setAlarm()
    }

    /// Notes that a task has sent something.
    func noteWork() {
        hasWork = true
        flushLater()
    }

    /// Schedules a write: at the end of the current turn, if there is one.
    func flushLater() {
        guard !isInTurn, !awaitsFlush else { return }
        awaitsFlush = true
        local.flushLater(self)
    }

    /// Writes what was sent outside of a turn of this connection.
    func writeOffTurn() {
        (awaitsFlush, filledBuffers) = (false, 0)
        drain()
        flush()
        if inline != nil, isPaused, closing.isClosing { resumeReading() }
    }

    /// Writes waiting data, as long as the socket accepts it.
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
            // A socket reports how much it holds before it is flushed, so two parts can leave in one call; TLS reports it only after a
            // flush.
            if sharesReads { writeOut() } else { flush() }
        }
    }

    /// Answers a ping before the app's messages; if the peer does not read, only its latest ping (RFC 6455 §5.5.3).
    func pong(_ payload: [UInt8]) {
        guard context != nil, !isCloseFrameSent else { return }
        if isBlocked || longFrame != nil { owedPong = payload } else { writer.writeControl(.pong, payload, into: &out) }
    }

    /// Sends a ping before the waiting messages.
    func ping(_ payload: [UInt8]) {
        guard !isCloseFrameSent else { return }
        if longFrame != nil { return owedPings.append(payload) }
        writer.writeControl(.ping, payload, into: &out)
        pingsInOut.append(payload)
    }

    /// Flushes once for everything that a turn wrote.
    ///
    /// While the channel is full, written data waits here, where it counts against the send buffer.
    func flush() {
        if !isBlocked { writeOut() }
        meter.notify(traffic)  // First, because an answer may arrive before the call returns.
        guard needsFlush else { return }
        (needsFlush, unflushed) = (false, 0)
        context?.flush()
    }

    /// Writes the control frames that could not be sent between the parts of a message.
    private func writeOwed() {
        if let payload = owedPong.take() { writer.writeControl(.pong, payload, into: &out) }
        guard !owedPings.isEmpty else { return }
        for payload in owedPings { ping(payload) }
        owedPings = []
    }

    private func takeQueued() {
        hasWork = false  // First, because a sender that gets in by this reports its work at once.
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

    /// Adds a write that completes when the socket has everything written so far.
    private func write(_ mark: UInt64) {
        writeOut()
        guard let context else { return }
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenSuccess { [outbound] in outbound.wrote(mark) }
        // It contains no bytes, so it completes when all earlier writes are complete, with and without TLS.
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

    /// Writes the close frame after all accepted messages; nothing follows it (RFC 6455 §5.5.1).
    private func writeCloseFrame() {
        guard let frame = closeFrameToSend.take() else { return }
        isCloseFrameSent = true
        writer.writeControl(.close, frame.payload, into: &out)
        writeOut()
        if endsOutput { endOutput() }
    }

    /// Ends this side of TCP; further input is discarded.
    func endOutput() {
        guard isCloseFrameSent, let context else { return endsOutput = true }
        flush()
        let promise = context.eventLoop.makePromise(of: Void.self)
        promise.futureResult.assumeIsolated().whenFailure { _ in context.close(promise: nil) }
        context.close(mode: .output, promise: promise)
    }

    /// Notes that the peer has accepted a part of a large message.
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

    /// Writes in parts, so that the progress of a slow peer with a large message is noticed.
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
    /// Resets the value and returns the old one.
    mutating func take() -> Bool {
        defer { self = false }
        return self
    }
}
