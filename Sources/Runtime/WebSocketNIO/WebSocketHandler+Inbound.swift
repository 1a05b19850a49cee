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
        if survivor != nil { finishTurn() }  // The link broke meanwhile, and the read is never complete.
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if isInTurn { activeAt = .now() }  // The end of the stream is no byte.
        finishTurn()
        context.fireChannelReadComplete()
    }

    /// The app has taken enough: parse what waits, and read on.
    func resumeReading() {
        guard !isHeld || closing.isClosing || survivor != nil else { return }
        isPaused = false
        feedHeartbeat(.resumed)
        finishTurn()
    }

    /// Ends a turn: hands over what was received, lets whoever waited for it run, writes what they sent, asks for more.
    func finishTurn() {
        local.beginTurn()
        isInTurn = true
        deliver()
        batchCost = 0
        local.runJobs()
        // The app may have taken all of a batch at once, or want no more: then nobody calls for the rest.
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
        // Whoever closes reads on even when the app does not, or the peer's close frame would never be seen.
        if !isPaused || closing.isClosing { context?.read() }
    }

    /// Hands over what was received so far.
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

    /// Before anybody sees it, so that whoever has a message finds it counted.
    private func countBatch() {
        traffic.messagesIn += batch.count
        // See `Received.cost`.
        traffic.payloadIn += batch.cost - 64 * batch.count
        meter.tell(traffic)
    }

    /// Calls an inline handler: a link that breaks meanwhile counts as broken when it returns.
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

    /// Parses what was read, after all that waits.
    func take(_ bytes: inout ByteBuffer, isShared: Bool) {
        if unparsed == nil { parse(&bytes, isShared: isShared) } else { unparsed?.writeBuffer(&bytes) }
    }

    /// Parses a buffer that is to be given back when it `isShared`.
    private func parse(_ buffer: inout ByteBuffer, isShared: Bool) {
        // First, for the close frame in it is the end.
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

    /// Collects the messages in the bytes, until there are more than the app may take: few bytes can hold many, or inflate to
    /// large ones.
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
        // The batch is full: whoever waits may begin with it.
        deliver()
        _ = try batch.append(lone, expecting: available)
    }

    /// Lends the messages in the bytes to an inline handler, until the peer does not take what it sends.
    ///
    /// What it leaves of them is more than the peer takes replies for, or the beginning of a long frame.
    @inline(never)
    private func hand(
        _ bytes: inout UnsafeRawBufferPointer, to handler: any InlineHandler, _ socket: InlineSocket
    ) throws(ProtocolViolation) {
        // Here, where they cost almost nothing, and not in the handler's memory.
        var (count, payload) = (0, 0)
        defer {
            traffic.messagesIn &+= count
            traffic.payloadIn &+= payload
        }
        while !isDiscarding, !(isBlocked || isHeld) || isSendingOver {
            if let lone = reader.nextLone(&bytes) {
                // SAFETY: nobody else looks at the bytes of a read; the channel's pool uses them again only when we have let go.
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
            deliver()  // What came before counts, whether or not the app keeps up.
            isDiscarding = true
            // What broke the link came later than this.
            if survivor != nil { failure = nil }
            feedClosing(.peerClose(frame))
        }
    }

    private func receive(_ element: Received, cost: Int) {
        batch.append(element)
        batchCost += cost
    }
}
