/// A complete application message.
public enum Message: Hashable, Sendable {
    /// UTF-8 text.
    case text(String)
    /// Bytes.
    case binary([UInt8])

    /// The length of the payload in bytes; for text, in UTF-8.
    public var byteCount: Int {
        switch self {
        case .text(let text): text.utf8.count
        case .binary(let bytes): bytes.count
        }
    }

    /// Creates a message from a payload that was already validated.
    ///
    /// `isASCII` is used only for text.
    package init(_ kind: MessageKind, checked bytes: UnsafeRawBufferPointer, isASCII: Bool) {
        // Copying a sequence is the fastest way in the standard library.
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
    /// Inlined, because otherwise the payload would be retained during the call.
    @inlinable @inline(__always)
    package func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        switch self {
        case .text(var text): try text.withUTF8 { unsafe try body(UnsafeRawBufferPointer($0)) }
        case .binary(let bytes): unsafe try bytes.withUnsafeBytes(body)
        }
    }
}

extension Message: CustomStringConvertible, CustomReflectable {
    /// The kind, the length and the beginning: `text, 5 bytes: "hello"`, `binary, 100 bytes: 00 ff 1b …`.
    ///
    /// It shows at most the first 64 bytes of text, with control characters and quotes escaped, or the first 16 binary bytes. Values whose
    /// name indicates a secret, such as `password`, are `<hidden>`.
    public var description: String {
        let excerpt = MessageExcerpt(of: self, limit: kind == .text ? 64 : 16)
        let count = byteCount == 1 ? "1 byte" : "\(byteCount) bytes"
        switch self {
        case .text: return "text, \(count): \(excerpt.start)"
        case .binary(let bytes): return "binary, \(count)" + (bytes.isEmpty ? "" : ": \(excerpt.start)")
        }
    }

    /// A mirror that shows only the description, so that a dump reveals no more than a log.
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
    /// The bytes of this piece.
    ///
    /// For text, they are valid UTF-8 that may begin or end inside a character.
    public var bytes: [UInt8]
    /// Whether this is the last piece of the message.
    public var isLast: Bool

    /// Creates a piece of a message.
    public init(kind: MessageKind, bytes: [UInt8], isLast: Bool) { (self.kind, self.bytes, self.isLast) = (kind, bytes, isLast) }
}

/// The limits for data from a peer.
public struct MessageLimits: Hashable, Sendable {
    /// The maximum payload of one frame in bytes, as sent (compressed or not); 1 MiB by default.
    public var frame: Int
    /// The maximum size of one message in bytes, with all its frames and after decompression; 1 MiB by default.
    public var message: Int
    /// The maximum number of frames of one message; 65 536 by default.
    public var fragments: Int

    /// Creates limits; omitted ones have their defaults.
    public init(frame: Int = 1 << 20, message: Int = 1 << 20, fragments: Int = 65_536) {
        (self.frame, self.message, self.fragments) = (frame, message, fragments)
    }
}

/// How received messages are delivered.
public enum Delivery: Hashable, Sendable {
    /// Complete, after the last byte has arrived.
    case messages
    /// In pieces as they arrive. No message is buffered completely.
    case chunks
}
