import DequeModule
import MachineCore
import NIOCore
import WebSocketCore
import WebSocketRuntime

extension WebSocketHandler {
    private static let batchSize = 64 * 1024

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable {
            stalledUntil = nil
            feedHeartbeat(.activity)
            drain()
            flush()
        } else {
            startStall()
        }
        context.fireChannelWritabilityChanged()
    }

    /// The socket takes nothing more, or only now took something again: from here on the peer is measured.
    func startStall() {
        stalledUntil = settings.stallTimeout.map { now + $0 }
        setAlarm()
    }

    /// Writes what waits to be sent, as long as the socket takes it.
    func drain() {
        guard let context else { return }
        while context.channel.isWritable, !isCloseFrameSent {
            if let payload = owedPong.take() { writer.writeControl(.pong, payload, into: &out) }
            let entries = outbound.take(upTo: Self.batchSize)
            guard !entries.isEmpty else { return writeCloseFrame() }
            // An entry's cost covers its frame, so the batch is written without growing the buffer again.
            out.reserveCapacity(minimumWritableBytes: min(entries.reduce(0) { $0 + $1.cost }, 2 * Self.batchSize))
            for entry in entries {
                switch entry {
                case .message(let message): writer.write(message, into: &out)
                case .chunk(let chunk, let isFirst): writer.write(chunk, isFirst: isFirst, into: &out)
                }
                if out.readableBytes >= Self.batchSize { writeOut() }
            }
            writeOut()
        }
    }

    /// Answers a ping, ahead of the app; when the peer does not read, only its latest (RFC 6455 §5.5.3).
    func pong(_ payload: [UInt8]) {
        guard let context, !isCloseFrameSent else { return }
        if context.channel.isWritable { writer.writeControl(.pong, payload, into: &out) } else { owedPong = payload }
    }

    /// Sends a ping, ahead of the messages that wait.
    func ping(_ payload: [UInt8]) {
        guard !isCloseFrameSent else { return }
        writer.writeControl(.ping, payload, into: &out)
        pingsInOut.append(payload)
    }

    /// One flush for everything that a turn wrote.
    func flush() {
        writeOut()
        guard needsFlush else { return }
        needsFlush = false
        context?.flush()
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
        promise.futureResult.assumeIsolated().whenFailure { [weak self] _ in self?.context?.close(promise: nil) }
        context.close(mode: .output, promise: promise)
    }

    /// The peer took a part of a large message.
    private func noteProgress() {
        if stalledUntil != nil { startStall() }
        feedHeartbeat(.activity)
    }

    private func writeOut() {
        guard let context, out.readableBytes > 0 else { return }
        let pings = pingsInOut
        pingsInOut = []
        var written: EventLoopPromise<Void>?
        if !pings.isEmpty {
            written = context.eventLoop.makePromise()
            written?.futureResult.assumeIsolated().whenSuccess { [weak self] in
                for ping in pings { self?.feedHeartbeat(.written(ping)) }
            }
        }
        // By parts, so that a peer that takes long over a large message is seen to take it.
        while out.readableBytes > Self.batchSize, let part = out.readSlice(length: Self.batchSize) {
            let taken = context.eventLoop.makePromise(of: Void.self)
            taken.futureResult.assumeIsolated().whenSuccess { [weak self] in self?.noteProgress() }
            context.write(wrapOutboundOut(part), promise: taken)
        }
        context.write(wrapOutboundOut(out), promise: written)
        out = ByteBuffer()
        needsFlush = true
    }
}
