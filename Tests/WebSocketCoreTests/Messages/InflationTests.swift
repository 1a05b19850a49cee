import Testing
@testable import WebSocketCore

@Suite struct InflationTests {
    private static let mask = MaskKey(bits: 0xC3_5A_81_6E)
    private static let lengths = [
        0, 1, 2, 510, 511, 512, 513, 4095, 4096, 4097, 8191, 8192, 8193, 16_384, 20_000, 131_071, 131_072, 300_000,
    ]

    /// Inflates a complete payload.
    private func whole(
        _ inflation: inout Inflation, _ payload: [UInt8], mask: MaskKey?, limit: Int = .max
    ) throws(ProtocolViolation) -> [UInt8] {
        var masked = payload
        masked.withUnsafeMutableBytes { mask?.apply(to: $0) }
        return try masked.withUnsafeBufferPointer { masked throws(ProtocolViolation) in
            try inflation.withWhole(UnsafeRawBufferPointer(masked), mask: mask, limit: limit) { Array($0) }
        }
    }

    private func payload(_ length: Int) -> [UInt8] { (0..<length).map { UInt8($0 % 251) } }

    private func doubled(_ payload: [UInt8]) -> [UInt8] { payload.flatMap { [$0, $0] as [UInt8] } + [0x2E] }

    @Test(arguments: [nil, mask]) func `complete messages are inflated after messages of any length`(mask: MaskKey?) throws {
        let inflater = DoublingInflater()
        var inflation = Inflation(inflater)
        for length in Self.lengths + Self.lengths.reversed() + [300_000, 0, 300_000, 0] {
            #expect(try whole(&inflation, payload(length), mask: mask) == doubled(payload(length)), "\(length) bytes")
        }
        #expect(inflater.finished == Self.lengths.count * 2 + 4)
    }

    @Test func `an inflated message may be as long as the limit but no longer`() throws {
        for earlier in [0, 600, 100_000] {
            for length in Self.lengths {
                var inflation = Inflation(DoublingInflater())
                _ = try whole(&inflation, payload(earlier), mask: nil)
                #expect(try whole(&inflation, payload(length), mask: nil, limit: 2 * length + 1).count == 2 * length + 1)
                let violation = #expect(throws: ProtocolViolation.self) {
                    try whole(&inflation, payload(length), mask: nil, limit: 2 * length)
                }
                #expect(violation?.kind == .messageTooBig, "\(length) bytes")
            }
        }
    }

    @Test func `an invalid stream is refused wherever the error is`() {
        for place in [0, 1, 700, 8191, 8192, 19_999] {
            var (inflation, bad) = (Inflation(DoublingInflater()), payload(20_000))
            bad[place] = 0xFF
            let violation = #expect(throws: ProtocolViolation.self) { try whole(&inflation, bad, mask: Self.mask) }
            #expect(violation?.kind == .invalidCompressedData)
        }
    }

    @Test func `the buffer size follows the message sizes within bounds`() throws {
        var inflation = Inflation(DoublingInflater())
        #expect(inflation.typicalRoom == 1024)
        _ = try whole(&inflation, payload(500), mask: nil)
        #expect((1001 + 258...2048).contains(inflation.typicalRoom))
        _ = try whole(&inflation, payload(1_000_000), mask: nil)
        #expect(inflation.typicalRoom == Inflation.rooms.upperBound)
        for _ in 1...60 { _ = try whole(&inflation, payload(10), mask: nil) }
        #expect(inflation.typicalRoom == 1024)
    }
}
