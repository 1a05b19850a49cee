/// The 2 to 14 bytes before a frame's payload (RFC 6455 §5.2).
public struct FrameHeader: Hashable, Sendable {
    /// The most bytes a header takes: two, eight of length, four of mask.
    public static let maximumLength = 14

    /// FIN: this frame ends its message.
    public var isFinal: Bool
    /// RSV1: this frame begins a compressed message (RFC 7692 §6).
    public var isCompressed: Bool
    /// What the frame carries.
    public var opcode: Opcode
    /// The key that masks the payload; nil when it is not masked.
    public var mask: MaskKey?
    /// How many bytes of payload follow the header; never negative.
    public var payloadLength: Int

    /// A header with these fields.
    @inlinable @inline(__always)
    public init(_ opcode: Opcode, isFinal: Bool = true, isCompressed: Bool = false, mask: MaskKey? = nil, payloadLength: Int) {
        (self.isFinal, self.isCompressed, self.opcode) = (isFinal, isCompressed, opcode)
        (self.mask, self.payloadLength) = (mask, payloadLength)
    }

    /// The bytes the header takes when written: 2 to ``maximumLength``.
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

    /// Writes ``length`` bytes from `start` on, where there must be room for ``maximumLength``, and returns how many they were.
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
}
