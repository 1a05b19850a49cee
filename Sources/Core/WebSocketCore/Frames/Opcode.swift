/// What a frame carries (RFC 6455 §5.2).
public struct Opcode: RawRepresentable, Hashable, Sendable {
    /// The four bits of the header, 0 to 15.
    public let rawValue: UInt8

    /// The opcode with these four bits, known or not.
    @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// More of the message that an earlier frame began.
    @inlinable public static var continuation: Opcode { Opcode(rawValue: 0x0) }
    /// The first or only frame of a text message.
    @inlinable public static var text: Opcode { Opcode(rawValue: 0x1) }
    /// The first or only frame of a binary message.
    @inlinable public static var binary: Opcode { Opcode(rawValue: 0x2) }
    /// A close frame.
    @inlinable public static var close: Opcode { Opcode(rawValue: 0x8) }
    /// A ping, to be answered with a pong.
    @inlinable public static var ping: Opcode { Opcode(rawValue: 0x9) }
    /// The answer to a ping, or an unasked sign of life.
    @inlinable public static var pong: Opcode { Opcode(rawValue: 0xA) }

    /// Whether it is a control opcode, known or reserved: never fragmented, never compressed (RFC 6455 §5.5).
    @inlinable public var isControl: Bool { rawValue & 0x8 != 0 }
}
