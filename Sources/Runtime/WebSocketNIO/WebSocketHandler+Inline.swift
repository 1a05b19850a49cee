import NIOCore
import WebSocketCore
import WebSocketRuntime

/// Sending on the event loop itself: directly into the buffer that is written at the end of the turn.
extension WebSocketHandler {
    /// A task that has filled this many buffers waits for the end of its turn, however fast the peer is, so that other connections get theirs.
    private static let buffersPerTurn = 4
    /// The minimum size of a message that gets its own buffer in the channel's queue.
    private static let longPayload = 16 * 1024
    /// The minimum size of a message to many sockets that is not copied for each of them.
    private static let sharedPayload = 1024

    /// Sends a task's message directly, if it overtakes no other; returns false if it must be queued.
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
        // Data in `out` is sent first. From the second message of a turn on, short ones are copied together, which is cheaper than an
        // entry for each in the channel's queue. A single one is sent as it is, so that a peer that does not read does not hold a buffer
        // for each.
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
        // TLS reports only after a flush whether it can accept more.
        flush()
    }

    func resumeInline() {
        guard isHeld.take(), isPaused else { return }
        // The end of the current turn is already decided, and a channel that accepts no data resumes by itself.
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
            // TLS reports only after a flush whether it can accept more.
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

    /// Returns the bytes as a slice of the read buffer, if they lie in it.
    private func slice(_ bytes: UnsafeRawBufferPointer) -> ByteBuffer? {
        guard let (buffer, base) = reading, let start = bytes.baseAddress else { return nil }
        let offset = start - base
        guard offset >= 0, offset + bytes.count <= buffer.readableBytes else { return nil }
        return buffer.getSlice(at: buffer.readerIndex + offset, length: bytes.count)
    }
}
