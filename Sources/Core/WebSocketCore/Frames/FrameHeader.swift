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
    @inlinable
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
    @inlinable
    public func write(to bytes: UnsafeMutableRawBufferPointer) {
        precondition(bytes.count >= length, "no room for the header")
        let masked: UInt8 = mask == nil ? 0 : 0x80
        unsafe bytes[0] = (isFinal ? 0x80 : 0) | (isCompressed ? 0x40 : 0) | opcode.rawValue & 0x0F
        if payloadLength <= 125 {
            unsafe bytes[1] = masked | UInt8(payloadLength)
        } else if payloadLength <= 0xFFFF {
            unsafe bytes[1] = masked | 126
            unsafe bytes.storeBytes(of: UInt16(payloadLength).bigEndian, toByteOffset: 2, as: UInt16.self)
        } else {
            unsafe bytes[1] = masked | 127
            unsafe bytes.storeBytes(of: UInt64(payloadLength).bigEndian, toByteOffset: 2, as: UInt64.self)
        }
        if let mask { unsafe bytes.storeBytes(of: mask.bits, toByteOffset: length - 4, as: UInt32.self) }
    }
}
