import NIOCore
import WebSocketCore
import WebSocketRuntime

extension WebSocketHandler {
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isDiscarding else { return }
        var bytes = unwrapInboundIn(data)
        if unparsed == nil { parse(&bytes) } else { unparsed?.writeBuffer(&bytes) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        feedHeartbeat(.activity)
        finishTurn()
        context.fireChannelReadComplete()
    }

    /// The app has taken enough: parse what waits, and read on.
    func resumeReading() {
        isPaused = false
        feedHeartbeat(.resumed)
        finishTurn()
    }

    /// Ends a turn: hands over what was received, flushes what was written, asks for more.
    func finishTurn() {
        deliver()
        // The app may have taken all of a batch at once, or want no more: then nobody calls for the rest.
        while !isPaused || closing.isClosing, var bytes = unparsed.take() {
            parse(&bytes)
            deliver()
        }
        flush()
        if survivor != nil { return transportEnded() }
        // Whoever closes reads on even when the app does not, or the peer's close frame would never be seen.
        if !isPaused || closing.isClosing { context?.read() }
    }

    /// Hands over what was received so far.
    func deliver() {
        guard !batch.isEmpty else { return }
        batchCost = 0
        if dropsRest || (closing.isClosing && isPaused) {
            dropsRest = true
            return batch.removeAll()
        }
        guard !inbound.append(&batch), !isPaused else { return }
        isPaused = true
        feedHeartbeat(.paused)
    }

    private func parse(_ buffer: inout ByteBuffer) {
        let rest = buffer.withUnsafeReadableBytes { bytes in
            var bytes = bytes
            do throws(ProtocolViolation) {
                while !isDiscarding, !isSwamped, let event = try reader.next(&bytes) { take(event) }
            } catch {
                fail(error)
            }
            return bytes.count
        }
        guard rest > 0, !isDiscarding else { return }
        buffer.moveReaderIndex(to: buffer.writerIndex - rest)
        unparsed = buffer
    }

    /// Few bytes can hold many messages, or inflate to large ones; what the app cannot take is then left unparsed.
    private var isSwamped: Bool { batchCost / 4 > settings.receiveBuffer }

    private func take(_ event: MessageReader.Event) {
        switch event {
        case .message(let message): receive(.message(message))
        case .chunk(let chunk): receive(.chunk(chunk))
        case .ping(let payload): pong(payload)
        case .pong(let payload): feedHeartbeat(.pong(payload))
        case .close(let frame):
            deliver()  // What came before counts, whether or not the app keeps up.
            isDiscarding = true
            // What broke the link came later than this.
            if survivor != nil { failure = nil }
            feedClosing(.peerClose(frame))
        }
    }

    private func receive(_ element: Received) {
        batch.append(element)
        batchCost += element.cost
    }
}
