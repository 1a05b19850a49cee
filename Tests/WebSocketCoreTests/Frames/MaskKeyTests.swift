import Testing
import WebSocketCore

@Suite struct MaskKeyTests {
    let key = MaskKey(bits: UInt32(bigEndian: 0x37FA_213D))
    let keyBytes: [UInt8] = [0x37, 0xFA, 0x21, 0x3D]

    @Test func `the masked Hello of RFC 6455 §5-7 is unmasked`() {
        var bytes: [UInt8] = [0x7F, 0x9F, 0x4D, 0x51, 0x58]
        bytes.withUnsafeMutableBytes { key.apply(to: $0) }
        #expect(bytes == Array("Hello".utf8))
    }

    @Test(arguments: 0..<70) func `masking at this offset equals a plain loop at every length, and changes no byte outside`(offset: Int) {
        let source = (0..<300).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 11) }
        for length in 0..<200 {
            let phase = (offset + length) % 9
            var expected = [UInt8](repeating: 0xEE, count: 300)
            for index in 0..<length { expected[offset + index] = source[7 + index] ^ keyBytes[(phase + index) & 3] }

            var copied = [UInt8](repeating: 0xEE, count: 300)
            source.withUnsafeBytes { source in
                copied.withUnsafeMutableBytes {
                    let target = UnsafeMutableRawBufferPointer(rebasing: $0[offset..<offset + length])
                    key.copy(UnsafeRawBufferPointer(rebasing: source[7..<7 + length]), to: target, phase: phase)
                }
            }
            #expect(copied == expected)

            var applied = [UInt8](repeating: 0xEE, count: 300)
            applied.replaceSubrange(offset..<offset + length, with: source[7..<7 + length])
            applied.withUnsafeMutableBytes {
                key.apply(to: UnsafeMutableRawBufferPointer(rebasing: $0[offset..<offset + length]), phase: phase)
            }
            #expect(applied == expected)
        }
    }

    @Test func `a payload masked in two parts equals the payload masked at once`() {
        let source = (0..<150).map { UInt8($0) }
        var whole = source
        whole.withUnsafeMutableBytes { key.apply(to: $0) }
        for split in 0...source.count {
            var parts = source
            parts.withUnsafeMutableBytes {
                key.apply(to: UnsafeMutableRawBufferPointer(rebasing: $0[..<split]))
                key.apply(to: UnsafeMutableRawBufferPointer(rebasing: $0[split...]), phase: split)
            }
            #expect(parts == whole)
        }
    }
}
