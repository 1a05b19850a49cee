/// One whole application message.
public enum Message: Hashable, Sendable {
    /// UTF-8 text.
    case text(String)
    /// Bytes.
    case binary([UInt8])

    /// The length of the payload in bytes; of text, in UTF-8.
    public var byteCount: Int {
        switch self {
        case .text(let text): text.utf8.count
        case .binary(let bytes): bytes.count
        }
    }

    /// A message with a payload that was checked when it came; `isASCII` is only asked of text.
    package init(_ kind: MessageKind, checked bytes: UnsafeRawBufferPointer, isASCII: Bool) {
        // Copying a sequence is what the standard library does fastest.
        self = unsafe kind == .binary ? .binary([UInt8](bytes)) : .text(String(validated: bytes, isASCII: isASCII))
    }

    /// Whether it is text or binary.
    @inlinable
    package var kind: MessageKind { if case .text = self { .text } else { .binary } }

    /// The opcode of its first frame.
    @inlinable
    package var opcode: Opcode { if case .text = self { .text } else { .binary } }

    /// Calls `body` with the payload.
    ///
    /// Inlined, for otherwise the payload would be retained meanwhile.
    @inlinable @inline(__always)
    package func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        switch self {
        case .text(var text): try text.withUTF8 { unsafe try body(UnsafeRawBufferPointer($0)) }
        case .binary(let bytes): unsafe try bytes.withUnsafeBytes(body)
        }
    }
}

extension Message: CustomStringConvertible, CustomReflectable {
    /// Its kind, its length and how it begins: `text, 5 bytes: "hello"`, `binary, 100 bytes: 00 ff 1b …`.
    ///
    /// At most the first 64 bytes of text, with control characters and quotes escaped, or the first 16 bytes. What a name announces that
    /// is like `password` is `<hidden>`.
    public var description: String {
        let excerpt = MessageExcerpt(of: self, limit: kind == .text ? 64 : 16)
        let count = byteCount == 1 ? "1 byte" : "\(byteCount) bytes"
        switch self {
        case .text: return "text, \(count): \(excerpt.start)"
        case .binary(let bytes): return "binary, \(count)" + (bytes.isEmpty ? "" : ": \(excerpt.start)")
        }
    }

    /// The description alone: a dump shows no more of a message than a log does.
    public var customMirror: Mirror { Mirror(self, children: ["message": description]) }
}

/// Whether a message is text or binary.
public enum MessageKind: Hashable, Sendable {
    /// UTF-8 text.
    case text
    /// Bytes.
    case binary
}

/// A piece of a message that is received or sent as a stream.
public struct MessageChunk: Hashable, Sendable {
    /// The kind of the whole message.
    public var kind: MessageKind
    /// The bytes of this piece; of text, valid UTF-8 that may begin or end inside a character.
    public var bytes: [UInt8]
    /// Whether the message ends with this piece.
    public var isLast: Bool

    /// A piece of a message.
    public init(kind: MessageKind, bytes: [UInt8], isLast: Bool) { (self.kind, self.bytes, self.isLast) = (kind, bytes, isLast) }
}

/// The most a peer may send at once.
public struct MessageLimits: Hashable, Sendable {
    /// The most payload bytes of one frame, as they travel (compressed or not); 1 MiB by default.
    public var frame: Int
    /// The most bytes of one message, all its frames together and after decompression; 1 MiB by default.
    public var message: Int
    /// The most frames of one message; 65 536 by default.
    public var fragments: Int

    /// These limits; what is left out has its default.
    public init(frame: Int = 1 << 20, message: Int = 1 << 20, fragments: Int = 65_536) {
        (self.frame, self.message, self.fragments) = (frame, message, fragments)
    }
}

/// How received messages are handed over.
public enum Delivery: Hashable, Sendable {
    /// Whole, once the last byte has come.
    case messages
    /// In pieces, as they come; no message is held whole.
    case chunks
}
