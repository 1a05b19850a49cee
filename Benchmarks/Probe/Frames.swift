import WebSocketCore

/// A burst of equal frames, as in one read.
///
/// The key maps letters to letters, so that a burst may be unmasked in place repeatedly and always contains text.
enum Frames {
    private static let key = MaskKey(bits: 0x0101_0101)

    /// This number of letters.
    static func payload(_ size: Int) -> [UInt8] { (0..<size).map { UInt8(ascii: "a") + UInt8($0 % 24) } }

    static func burst(_ count: Int, _ opcode: Opcode, size: Int, isMasked: Bool) -> [UInt8] {
        var payload = payload(size)
        let header = FrameHeader(opcode, mask: isMasked ? key : nil, payloadLength: size)
        if isMasked { payload.withUnsafeMutableBytes { key.apply(to: $0) } }
        var frame = [UInt8](repeating: 0, count: header.length)
        frame.withUnsafeMutableBytes { header.write(to: $0) }
        return Array(repeatElement(frame + payload, count: count).joined())
    }
}
