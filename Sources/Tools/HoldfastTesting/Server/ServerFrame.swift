public import Holdfast

/// A frame that no server may send, for ``ServerStep/send(_:)-(ServerFrame)``.
public struct ServerFrame: Hashable, Sendable, CustomStringConvertible {
    /// What goes over the wire.
    public let bytes: [UInt8]
    /// What is wrong with it.
    public let description: String

    private init(_ bytes: [UInt8], _ description: String) { (self.bytes, self.description) = (bytes, description) }

    /// A message with a mask, as only clients may send (RFC 6455 §5.1).
    public static func masked(_ message: Message) -> ServerFrame {
        ServerFrame(bytes(of: message, mask: MaskKey(bits: 0x1234_5678)), "a masked message")
    }

    /// A text message that is not UTF-8 (RFC 6455 §8.1).
    public static let invalidText = ServerFrame(frame(.text, [0x68, 0xC3, 0x28]), "a text that is not UTF-8")

    /// A reserved bit that no extension uses (RFC 6455 §5.2).
    public static let reservedBit = ServerFrame([0x81 | 0x20, 0], "a reserved bit")

    /// An opcode without a meaning (RFC 6455 §5.2).
    public static let unknownOpcode = ServerFrame([0x80 | 0x3, 0], "an unknown opcode")

    /// More of a message that nobody began (RFC 6455 §5.4).
    public static let strayContinuation = ServerFrame(frame(.continuation, [0x68]), "a stray continuation")

    /// A ping in pieces (RFC 6455 §5.5).
    public static let fragmentedPing = ServerFrame([0x09, 0], "a fragmented ping")

    /// A ping of 126 bytes (RFC 6455 §5.5).
    public static let longPing = ServerFrame(frame(.ping, [UInt8](repeating: 0, count: 126)), "a ping of 126 bytes")

    /// A close frame with a code that must not travel (RFC 6455 §7.4.1).
    public static let forbiddenClose = ServerFrame(frame(.close, [0x03, 0xED]), "a close with 1005")

    /// The head of a binary message of this size, and none of its bytes; for one that is beyond a limit.
    public static func announcing(_ byteCount: Int) -> ServerFrame {
        ServerFrame(head(FrameHeader(.binary, payloadLength: max(0, byteCount))), "the head of a message of \(byteCount) bytes")
    }

    static func bytes(of message: Message, mask: MaskKey? = nil) -> [UInt8] {
        switch message {
        case .text(let text): frame(.text, Array(text.utf8), mask: mask)
        case .binary(let bytes): frame(.binary, bytes, mask: mask)
        }
    }

    static func frame(_ opcode: Opcode, _ payload: [UInt8], mask: MaskKey? = nil) -> [UInt8] {
        let header = FrameHeader(opcode, mask: mask, payloadLength: payload.count)
        var bytes = head(header) + payload
        bytes.withUnsafeMutableBytes { mask?.apply(to: UnsafeMutableRawBufferPointer(rebasing: $0[header.length...])) }
        return bytes
    }

    private static func head(_ header: FrameHeader) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: header.length)
        bytes.withUnsafeMutableBytes { header.write(to: $0) }
        return bytes
    }
}
