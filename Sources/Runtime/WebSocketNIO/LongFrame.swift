import WebSocketCore

/// A long message on its way out, one part after the other, so that no copy of it as a whole is ever made.
struct LongFrame {
    private var message: Message
    private let mask: MaskKey?
    private var sent = 0

    /// Begins with the header in `buffer`.
    init(_ message: Message, header: FrameHeader, into buffer: inout FrameBuffer) {
        (self.message, mask) = (message.contiguous, header.mask)
        buffer.writeHeader(header)
    }

    /// Appends the next part, at most `limit` bytes; true if it was the last.
    mutating func write(upTo limit: Int, into buffer: inout FrameBuffer) -> Bool {
        message.withBytes { bytes in
            let part = UnsafeRawBufferPointer(rebasing: bytes[sent...].prefix(limit))
            buffer.writePayload(part, mask: mask, phase: sent)
            sent += part.count
            return sent == bytes.count
        }
    }

    /// Empty storage as large as that of the message, and the same if nobody else holds the message.
    mutating func takeStorage() -> [UInt8] {
        guard case .binary(var storage) = message else { return [] }
        message = .binary([])
        storage.removeAll(keepingCapacity: true)
        return storage
    }
}

extension Message {
    /// Itself, with its text in one piece of UTF-8, so that looking at a part of it costs nothing.
    fileprivate var contiguous: Message {
        guard case .text(var text) = self else { return self }
        text.makeContiguousUTF8()
        return .text(text)
    }
}
