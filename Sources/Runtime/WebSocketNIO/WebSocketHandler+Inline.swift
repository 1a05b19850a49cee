import NIOCore
import WebSocketCore
import WebSocketRuntime

/// What is sent on the event loop itself: straight into the buffer that is written at the end of the turn.
extension WebSocketHandler {
    /// A task that has filled so many waits for its turn to end, however fast the peer is: other connections have theirs, too.
    private static let buffersPerTurn = 4
    /// From this many bytes on a message is worth a buffer of its own in the channel's queue.
    private static let longPayload = 16 * 1024
    /// From this many bytes on a message that goes to many sockets is never copied for each.
    private static let sharedPayload = 1024

    /// Sends a task's message ahead of the queue, if there is nothing it could overtake; false if it has to take its place there.
    func sendNow(_ message: Message) -> Bool {
        if isBlocked || isSendingOver || filledBuffers >= Self.buffersPerTurn || out.count >= settings.sendBuffer { return false }
        guard outbound.isIdle else { return false }
        switch message {
        case .binary(let bytes): return bytes.withUnsafeBytes { sendNow(.binary, $0) }
        case .text(var text): return text.withUTF8 { sendNow(.text, UnsafeRawBufferPointer($0)) }
        }
    }

    @inline(__always)
    private func sendNow(_ opcode: Opcode, _ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count < Self.longPayload || writer.compresses(bytes.count) else { return false }
        append(opcode, bytes)
        return true
    }

    func sendInline(_ kind: MessageKind, _ bytes: UnsafeRawBufferPointer) -> Bool {
        if isBlocked || isSendingOver {
            guard !isSendingOver else { return false }
            guard out.count < settings.sendBuffer, bytes.count < Self.longPayload else {
                wantsRoom = true
                return false
            }
        }
        append(kind == .text ? .text : .binary, bytes)
        return true
    }

    func sendInline(_ message: SharedMessage) -> Bool {
        // What waits in `out` goes first. From the second of a turn on, short ones are sooner copied together than given a place each in the
        // channel's queue; a lone one leaves as it is, for whoever reads nothing is not to keep a buffer for each.
        let isShared = (!needsFlush || message.byteCount >= Self.sharedPayload) && !writer.changes(message.byteCount)
        guard isShared, out.isEmpty, !isBlocked, !isSendingOver, let context else {
            return message.payload.withUnsafeBytes { sendInline(message.kind, $0) }
        }
        traffic.messagesOut &+= 1
        traffic.payloadOut &+= message.byteCount
        traffic.bytesOut &+= message.frame.readableBytes
        unflushed &+= message.frame.readableBytes
        writeInParts(message.frame, context)
        if unflushed >= Self.flushSize { flush() }
        if !isInTurn { flushLater() }
        return true
    }

    @inline(__always)
    private func append(_ opcode: Opcode, _ bytes: UnsafeRawBufferPointer) {
        traffic.messagesOut &+= 1
        traffic.payloadOut &+= bytes.count
        if bytes.count < Self.longPayload || writer.compresses(bytes.count) {
            if !out.hasMemory { out = local.takeOutput() }
            writer.write(opcode, bytes, into: &out)
        } else {
            writeLong(writer.header(opcode, payloadLength: bytes.count), bytes)
        }
        if out.count >= Self.batchSize, !isBlocked { writeFullBuffer() }
        if !isInTurn { flushLater() }
    }

    private func writeFullBuffer() {
        filledBuffers += 1
        // TLS says only then whether it can take more.
        flush()
    }

    func resumeInline() {
        guard isHeld.take(), isPaused else { return }
        // The end of the turn in progress has been decided, and a channel that takes nothing resumes by itself.
        if isInTurn { return local.loop.assumeIsolated().execute { self.goOnReceiving() } }
        goOnReceiving()
    }

    private func goOnReceiving() {
        if isPaused, !isHeld, !isBlocked { resumeReading() }
    }

    func closeInline(_ frame: CloseFrame) {
        feedClosing(.close(frame))
        flushLater()
    }

    private func writeLong(_ header: FrameHeader, _ bytes: UnsafeRawBufferPointer) {
        if !out.hasMemory { out = local.takeOutput() }
        if header.mask == nil, var slice = slice(bytes) {
            out.writeHeader(header)
            writeOut()
            while slice.readableBytes > 0, let part = slice.readSlice(length: min(slice.readableBytes, Self.batchSize)) { write(part) }
            unflushed += bytes.count
            traffic.bytesOut += bytes.count
            // TLS says only when it is flushed whether it can take more.
            if unflushed >= Self.flushSize || !sharesReads { flush() }
            return
        }
        out.writeHeader(header)
        var sent = 0
        while sent < bytes.count {
            if !out.hasMemory { out = local.takeOutput() }
            let part = UnsafeRawBufferPointer(rebasing: bytes[sent...].prefix(Self.batchSize))
            out.writePayload(part, mask: header.mask, phase: sent)
            sent += part.count
            flush()
        }
    }

    /// These bytes as a part of what was read, if that is where they are.
    private func slice(_ bytes: UnsafeRawBufferPointer) -> ByteBuffer? {
        guard let (buffer, base) = reading, let start = bytes.baseAddress else { return nil }
        let offset = start - base
        guard offset >= 0, offset + bytes.count <= buffer.readableBytes else { return nil }
        return buffer.getSlice(at: buffer.readerIndex + offset, length: bytes.count)
    }
}
