import NIOCore
import WebSocketCore
import WebSocketRuntime

/// Long frames for an inline handler: read to their end into one buffer, and lent from there.
extension WebSocketHandler {
    /// The length of the frame that `bytes` begin and do not end, if it is worth a buffer of its own.
    func lengthOfUnfinished(_ bytes: UnsafeRawBufferPointer) -> Int? {
        guard sharesReads, inline != nil, let length = reader.lengthOfLone(bytes) else { return nil }
        return length > bytes.count && LongInput.lengths.contains(length) ? length : nil
    }

    /// Reads on behind the first bytes of a long frame.
    func begin(_ length: Int, with bytes: inout ByteBuffer, isShared: Bool) {
        let longInput = longInput ?? makeLongInput()
        if !isShared, bytes.readerIndex == 0 {
            longInput.open(bytes, length: length)
            bytes = ByteBuffer()
        } else {
            var buffer = local.takeLongInput(LongInput.room(for: bytes.readableBytes, of: length))
            buffer.writeImmutableBuffer(bytes)
            longInput.open(buffer, length: length)
        }
    }

    /// What was read for long frames.
    func readLong(_ bytes: ByteBuffer, _ longInput: LongInput) {
        var bytes = bytes
        if !longInput.isLent {
            // A channel throws away what it has borrowed if there is nothing to read after all. It reads what is said to be
            // readable, so it does not come to that.
            guard var held = longInput.takeHeld() else {
                return abort(TransportError(.lost, "the link failed: what was read of a message is gone"))
            }
            // A client's channel may read once more into the buffer that the handshake came in.
            held.writeImmutableBuffer(bytes)
            bytes = held
        }
        guard var whole = longInput.takeBack(bytes) else { return }
        take(&whole, isShared: false)
        local.give(longInput: whole)
    }

    private func makeLongInput() -> LongInput {
        let new = LongInput()
        longInput = new
        // It shares reads, so its channel has taken such an allocator before.
        let allocator = SharedReadAllocator(local: local, isPoolFull: true, longInput: new)
        try? context?.channel.syncOptions?.setOption(.recvAllocator, value: allocator)
        return new
    }
}
