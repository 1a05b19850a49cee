extension FrameHeader {
    /// Reads the header that `bytes` begin with, and says how many bytes it took; nil when more are needed.
    ///
    /// Each rule is checked as soon as its byte is there: reserved bits (RSV1 is allowed on the first frame of a message
    /// when `allowsCompression`), opcode, control frames (at most 125 bytes, FIN set), shortest form of the length, 63 bits of length.
    /// The masking rule depends on the role, so ``MessageReader`` checks it.
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

    /// The 16- or 64-bit length behind the second byte.
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
