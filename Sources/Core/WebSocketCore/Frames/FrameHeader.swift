/// The header of a frame: the 2 to 14 bytes before the payload (RFC 6455 §5.2).
public struct FrameHeader: Hashable, Sendable {
    /// The maximum length of a header: two bytes, eight bytes of length, four bytes of mask.
    public static let maximumLength = 14

    /// FIN: whether this frame ends its message.
    public var isFinal: Bool
    /// RSV1: whether this frame begins a compressed message (RFC 7692 §6).
    public var isCompressed: Bool
    /// The type of the frame.
    public var opcode: Opcode
    /// The key that masks the payload; nil if it is not masked.
    public var mask: MaskKey?
    /// The number of payload bytes after the header; never negative.
    public var payloadLength: Int

    /// Creates a header with these fields.
    @inlinable @inline(__always)
    public init(_ opcode: Opcode, isFinal: Bool = true, isCompressed: Bool = false, mask: MaskKey? = nil, payloadLength: Int) {
        (self.isFinal, self.isCompressed, self.opcode) = (isFinal, isCompressed, opcode)
        (self.mask, self.payloadLength) = (mask, payloadLength)
    }

    /// The length of the encoded header in bytes: 2 to ``maximumLength``.
    @inlinable public var length: Int {
        let base = payloadLength <= 125 ? 2 : payloadLength <= 0xFFFF ? 4 : 10
        return mask == nil ? base : base + 4
    }

    /// Writes exactly ``length`` bytes, with the payload length in its shortest form.
    ///
    /// `bytes` must have room for them.
    public func write(to bytes: UnsafeMutableRawBufferPointer) {
        guard bytes.count >= length, let start = bytes.baseAddress else { preconditionFailure("no room for the header") }
        _ = unsafe write(at: start)
    }

    /// Writes the header at `start`, where ``maximumLength`` bytes must be available, and returns ``length``.
    @inlinable @inline(__always)
    public func write(at start: UnsafeMutableRawPointer) -> Int {
        let masked: UInt8 = mask == nil ? 0 : 0x80
        unsafe start.storeBytes(of: (isFinal ? 0x80 : 0) | (isCompressed ? 0x40 : 0) | opcode.rawValue & 0x0F, as: UInt8.self)
        var length = 2
        if payloadLength <= 125 {
            unsafe start.storeBytes(of: masked | UInt8(truncatingIfNeeded: payloadLength), toByteOffset: 1, as: UInt8.self)
        } else if payloadLength <= 0xFFFF {
            unsafe start.storeBytes(of: masked | 126, toByteOffset: 1, as: UInt8.self)
            unsafe start.storeBytes(of: UInt16(truncatingIfNeeded: payloadLength).bigEndian, toByteOffset: 2, as: UInt16.self)
            length = 4
        } else {
            unsafe start.storeBytes(of: masked | 127, toByteOffset: 1, as: UInt8.self)
            unsafe start.storeBytes(of: UInt64(payloadLength).bigEndian, toByteOffset: 2, as: UInt64.self)
            length = 10
        }
        guard let mask else { return length }
        unsafe start.storeBytes(of: mask.bits, toByteOffset: length, as: UInt32.self)
        return length &+ 4
    }

    /// Reads the header at the start of `bytes` and returns it with its length; nil if more bytes are needed.
    ///
    /// Each rule is checked as soon as its byte is available: reserved bits (RSV1 is allowed on the first frame of a message if
    /// `allowsCompression`), opcode, control frames (at most 125 bytes, FIN set), shortest form of the length, 63 bits of length. The
    /// masking rule depends on the role, so ``MessageReader`` checks it.
    public static func parse(
        _ bytes: UnsafeRawBufferPointer, allowsCompression: Bool
    ) throws(ProtocolViolation) -> (header: FrameHeader, length: Int)? {
        guard bytes.count >= 1 else { return nil }
        let first = unsafe bytes[0]
        let opcode = Opcode(rawValue: first & 0x0F)
        // RFC 6455 §5.2: 3–7 and 11–15 are reserved.
        guard opcode.rawValue & 0x7 <= 2 else { throw ProtocolViolation(.unknownOpcode, "\(opcode.rawValue)") }
        // RFC 7692 §6.1: RSV1 is set on the first frame of a message only, so never on a continuation or a control frame.
        let extensible = allowsCompression && (opcode == .text || opcode == .binary)
        guard first & (extensible ? 0x30 : 0x70) == 0 else {
            throw ProtocolViolation(.reservedBits, "RSV \(first >> 4 & 0x7) on opcode \(opcode.rawValue)")
        }
        let isFinal = first & 0x80 != 0
        // RFC 6455 §5.5: all control frames have at most 125 bytes and are not fragmented.
        if opcode.isControl, !isFinal { throw ProtocolViolation(.fragmentedControl, "opcode \(opcode.rawValue)") }

        guard bytes.count >= 2 else { return nil }
        let second = unsafe bytes[1]
        let shortLength = Int(second & 0x7F)
        if opcode.isControl, shortLength > 125 { throw ProtocolViolation(.oversizedControl, "at most 125 bytes are allowed") }
        let maskOffset = shortLength <= 125 ? 2 : shortLength == 126 ? 4 : 10
        guard bytes.count >= maskOffset else { return nil }
        let payloadLength = shortLength <= 125 ? shortLength : try unsafe longLength(bytes, isShort: shortLength == 126)

        var header = FrameHeader(opcode, isFinal: isFinal, isCompressed: first & 0x40 != 0, payloadLength: payloadLength)
        guard second & 0x80 != 0 else { return (header, maskOffset) }
        guard bytes.count >= maskOffset + 4 else { return nil }
        header.mask = MaskKey(bits: unsafe bytes.loadUnaligned(fromByteOffset: maskOffset, as: UInt32.self))
        return (header, maskOffset + 4)
    }

    /// Reads the 16- or 64-bit length after the second byte.
    private static func longLength(_ bytes: UnsafeRawBufferPointer, isShort: Bool) throws(ProtocolViolation) -> Int {
        // RFC 6455 §5.2: the minimal number of bytes must be used, and the most significant bit must be 0.
        if isShort {
            let value = UInt16(bigEndian: unsafe bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self))
            guard value > 125 else { throw ProtocolViolation(.nonMinimalLength, "\(value) written in 16 bits") }
            return Int(value)
        }
        let value = UInt64(bigEndian: unsafe bytes.loadUnaligned(fromByteOffset: 2, as: UInt64.self))
        guard value >> 63 == 0 else { throw ProtocolViolation(.lengthOverflow, "the 64th bit of the length is set") }
        guard value > 0xFFFF else { throw ProtocolViolation(.nonMinimalLength, "\(value) written in 64 bits") }
        guard let length = Int(exactly: value) else { throw ProtocolViolation(.messageTooBig, "\(value) bytes in one frame") }
        return length
    }
}

/// The type of a frame (RFC 6455 §5.2).
public struct Opcode: RawRepresentable, Hashable, Sendable {
    /// The four bits of the header, 0 to 15.
    public let rawValue: UInt8

    /// Creates the opcode with these four bits, known or not.
    @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// A further frame of the message that an earlier frame began.
    @inlinable public static var continuation: Opcode { Opcode(rawValue: 0x0) }
    /// The first or only frame of a text message.
    @inlinable public static var text: Opcode { Opcode(rawValue: 0x1) }
    /// The first or only frame of a binary message.
    @inlinable public static var binary: Opcode { Opcode(rawValue: 0x2) }
    /// A close frame.
    @inlinable public static var close: Opcode { Opcode(rawValue: 0x8) }
    /// A ping, to be answered with a pong.
    @inlinable public static var ping: Opcode { Opcode(rawValue: 0x9) }
    /// The answer to a ping, or an unsolicited sign of life.
    @inlinable public static var pong: Opcode { Opcode(rawValue: 0xA) }

    /// Whether it is a control opcode, known or reserved: never fragmented, never compressed (RFC 6455 §5.5).
    @inlinable public var isControl: Bool { rawValue & 0x8 != 0 }
}

/// The role of this side of the connection.
public enum Role: Hashable, Sendable {
    /// Opens the connection and masks the frames that it sends (RFC 6455 §5.1).
    case client
    /// Accepts the connection and sends frames without a mask.
    case server
}
