import DequeModule
import NIOCore
import WebSocketCore
import WebSocketRuntime

extension WebSocketHandler {
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        guard !isDiscarding else { return sharesReads ? local.give(input: bytes) : () }
        isInTurn = true  // Until the read is complete.
        if let longInput, longInput.isLent || longInput.isOpen {
            readLong(bytes, longInput)
        } else {
            take(&bytes, isShared: sharesReads)
            if sharesReads { local.give(input: bytes) }
        }
        if survivor != nil { finishTurn() }  // The link broke meanwhile, so the read will not complete.
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if isInTurn { activeAt = .now() }  // Not for the end of the stream, which is not a byte.
        finishTurn()
        context.fireChannelReadComplete()
    }

    /// Continues when the app has taken enough: parses waiting bytes, and reads on.
    func resumeReading() {
        guard !isHeld || closing.isClosing || survivor != nil else { return }
        isPaused = false
        feedHeartbeat(.resumed)
        finishTurn()
    }

    /// Ends a turn: delivers received messages, runs the tasks that waited for them, writes what they sent, and reads on.
    func finishTurn() {
        local.beginTurn()
        isInTurn = true
        deliver()
        batchCost = 0
        local.runJobs()
        // The app may have taken a whole batch at once, or may want no more: then nothing else triggers the parsing of the rest.
        while !isPaused || closing.isClosing, var bytes = unparsed.take() {
            parse(&bytes, isShared: false)
            deliver()
            batchCost = 0
            local.runJobs()
        }
        (isInTurn, filledBuffers) = (false, 0)
        drain()
        flush()
        local.endTurn()
        if survivor != nil { return transportEnded() }
        // While closing, the connection reads even if the app does not, or it would never see the peer's close frame.
        if !isPaused || closing.isClosing { context?.read() }
    }

    /// Delivers the messages received so far.
    func deliver() {
        guard !batch.isEmpty else { return }
        countBatch()
        if dropsRest || (closing.isClosing && isPaused) {
            dropsRest = true
            return batch = ReceivedBatch()
        }
        if !questions.isEmpty { takeAnswers() }
        if !batch.isEmpty, !inbound.append(&batch) { pause() }
    }

    /// Counts a batch before it is delivered, so that a received message is always counted already.
    private func countBatch() {
        traffic.messagesIn += batch.count
        // For the constant see `Received.cost`.
        traffic.payloadIn += batch.cost - 64 * batch.count
        meter.notify(traffic)
    }

    /// Calls an inline handler; if the link breaks meanwhile, that is handled when the call returns.
    func calling<Failure: Error>(_ body: () throws(Failure) -> Void) throws(Failure) {
        let wasCalling = isCalling
        isCalling = true
        defer { isCalling = wasCalling }
        try body()
    }

    private func pause() {
        guard !isPaused else { return }
        isPaused = true
        feedHeartbeat(.paused)
    }

    /// Parses read bytes, after those that wait.
    func take(_ bytes: inout ByteBuffer, isShared: Bool) {
        if unparsed == nil { parse(&bytes, isShared: isShared) } else { unparsed?.writeBuffer(&bytes) }
    }

    /// Parses a buffer; if it `isShared`, it must be returned afterwards.
    private func parse(_ buffer: inout ByteBuffer, isShared: Bool) {
        // Counted before parsing, because a close frame in it ends the connection.
        traffic.bytesIn += buffer.readableBytes
        let rest = buffer.withUnsafeReadableBytes { bytes in
            var bytes = bytes
            do throws(ProtocolViolation) {
                if let inline {
                    reading = bytes.baseAddress.map { (buffer, $0) }
                    try calling { () throws(ProtocolViolation) in try hand(&bytes, to: inline.handler, inline.socket) }
                } else {
                    try collect(&bytes)
                }
            } catch {
                fail(error)
            }
            return bytes.count
        }
        reading = nil
        traffic.bytesIn -= rest
        if isHeld { pause() }
        guard rest > 0, !isDiscarding else { return }
        buffer.moveReaderIndex(to: buffer.writerIndex - rest)
        if let length = buffer.withUnsafeReadableBytes(lengthOfUnfinished) { return begin(length, with: &buffer, isShared: isShared) }
        unparsed = isShared ? ByteBuffer(bytes: buffer.readableBytesView) : buffer
        if inline != nil { pause() }
    }

    /// Collects the messages in the bytes, up to a limit: a few bytes can contain many messages, or inflate to large ones.
    private func collect(_ bytes: inout UnsafeRawBufferPointer) throws(ProtocolViolation) {
        while !isDiscarding, batchCost / 4 <= settings.receiveBuffer {
            let available = bytes.count
            if let lone = reader.nextLone(&bytes) {
                try collect(lone, available)
            } else {
                guard !bytes.isEmpty else { return }
                if let length = reader.lengthOfLone(bytes), LongInput.lengths.contains(length) {
                    reader.spare = local.takeStorage(length)
                }
                guard let event = try reader.next(&bytes) else { return }
                receive(event)
            }
        }
    }

    @inline(__always)
    private func collect(_ lone: LoneFrame, _ available: Int) throws(ProtocolViolation) {
        let length = lone.payload.count
        guard length <= ReceivedBatch.longestShort else { return receive(.message(try lone.message()), cost: length + 64) }
        batchCost += length + 64
        if try batch.append(lone, expecting: available) { return }
        // The batch is full: a waiting task may begin with it.
        deliver()
        _ = try batch.append(lone, expecting: available)
    }

    /// Lends the messages in the bytes to an inline handler, until the socket does not accept its replies.
    ///
    /// The remaining bytes are messages for later, or the beginning of a long frame.
    @inline(never)
    private func hand(
        _ bytes: inout UnsafeRawBufferPointer, to handler: any InlineHandler, _ socket: InlineSocket
    ) throws(ProtocolViolation) {
        // Local variables cost almost nothing here, in contrast to fields of the handler.
        var (count, payload) = (0, 0)
        defer {
            traffic.messagesIn &+= count
            traffic.payloadIn &+= payload
        }
        while !isDiscarding, !(isBlocked || isHeld) || isSendingOver {
            if let lone = reader.nextLone(&bytes) {
                // SAFETY: nothing else uses the bytes of a read; the channel's pool reuses them only after they were released.
                try lone.unmaskInPlace()
                count &+= 1
                payload &+= lone.payload.count
                handler.received(lone.kind, lone.payload.bytes, on: socket)
            } else {
                guard !bytes.isEmpty, lengthOfUnfinished(bytes) == nil, let event = try reader.next(&bytes) else { return }
                receive(event)
            }
        }
    }

    private func receive(_ event: MessageReader.Event) {
        switch event {
        case .message(let message): receive(.message(message), cost: message.byteCount + 64)
        case .chunk(let chunk):
            guard let (handler, socket) = inline else {
                if !chunk.isLast { traffic.messagesIn -= 1 }  // A batch counts every piece.
                return receive(.chunk(chunk), cost: chunk.bytes.count + 64)
            }
            traffic.messagesIn += 1
            traffic.payloadIn += chunk.bytes.count
            chunk.bytes.withUnsafeBytes { handler.received(chunk.kind, $0.bytes, on: socket) }
        case .ping(let payload): pong(payload)
        case .pong(let payload): feedHeartbeat(.pong(payload))
        case .close(let frame):
            deliver()  // Earlier messages count, even if the app is slow.
            isDiscarding = true
            // The link broke after this frame was sent.
            if survivor != nil { failure = nil }
            feedClosing(.peerClose(frame))
        }
    }

    private func receive(_ element: Received, cost: Int) {
        batch.append(element)
        batchCost += cost
    }
}
