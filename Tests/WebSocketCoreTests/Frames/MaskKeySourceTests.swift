import Testing
@testable import WebSocketCore

@Suite struct MaskKeySourceTests {
    /// Returns these words, and then zeros.
    private struct Script: RandomNumberGenerator {
        var words: [UInt64]
        mutating func next() -> UInt64 { words.isEmpty ? 0 : words.removeFirst() }
    }

    private func source(_ words: [UInt64]) -> MaskKeySource {
        var script = Script(words: words)
        return MaskKeySource(using: &script)
    }

    private func words(_ block: SIMD16<UInt32>) -> [UInt32] { block.indices.map { block[$0] } }

    private func input(_ key: [UInt32], _ position: [UInt32]) -> SIMD16<UInt32> {
        SIMD16([0x6170_7865, 0x3320_646E, 0x7962_2D32, 0x6B20_6574] + key + position)
    }

    @Test func `the block function gives the vector of RFC 8439 §2-3-2`() {
        let key: [UInt32] = [
            0x0302_0100, 0x0706_0504, 0x0B0A_0908, 0x0F0E_0D0C, 0x1312_1110, 0x1716_1514, 0x1B1A_1918, 0x1F1E_1D1C,
        ]
        let block = MaskKeySource.block(input(key, [0x0000_0001, 0x0900_0000, 0x4A00_0000, 0x0000_0000]), doubleRounds: 10)
        #expect(
            words(block) == [
                0xE4E7_F110, 0x1559_3BD1, 0x1FDD_0F50, 0xC471_20A3, 0xC7F4_D1C7, 0x0368_C033, 0x9AAA_2204, 0x4E6C_D4C3,
                0x4664_82D2, 0x09AA_9F07, 0x05D7_C214, 0xA202_8BD9, 0xD19C_12B5, 0xB94E_16DE, 0xE883_D0CB, 0x4E3C_50A2,
            ])
    }

    /// The vector of draft-strombergson-chacha-test-vectors-01, TC1, 256 bits of key, 8 rounds.
    @Test func `the keys are the ChaCha8 stream`() {
        let source = source([])
        let stream = (0..<8).flatMap { _ in withUnsafeBytes(of: source.next().bits.littleEndian, Array.init) }
        #expect(
            stream == [
                0x3E, 0x00, 0xEF, 0x2F, 0x89, 0x5F, 0x40, 0xD6, 0x7F, 0x5B, 0xB8, 0xE8, 0x1F, 0x09, 0xA5, 0xA1,
                0x2C, 0x84, 0x0E, 0xC3, 0xCE, 0x9A, 0x7F, 0x3B, 0x18, 0x1B, 0xE1, 0x88, 0xEF, 0x71, 0x1A, 0x1E,
            ])
    }

    @Test func `a block gives sixteen keys, and then the counter increases`() {
        let key: [UInt32] = [1, 2, 3, 4, 5, 6, 7, 0x89AB_CDEF]
        let source = source(key.map { UInt64($0) })
        for counter in 0..<5 as Range<UInt32> {
            let block = MaskKeySource.block(input(key, [counter, 0, 0, 0]), doubleRounds: 4)
            #expect((0..<16).map { _ in source.next().bits } == words(block), "block \(counter)")
        }
    }

    @Test func `every one of the 256 seed bits changes the keys`() {
        let seeds = (0..<8).flatMap { word in (0..<32).map { bit in (0..<8).map { $0 == word ? 1 << bit as UInt64 : 0 } } }
        let first = ([[]] + seeds).map { seed in
            let source = source(seed)
            return [source.next(), source.next()]
        }
        #expect(Set(first).count == 257)
    }

    @Test func `keys differ within a source and between two sources`() {
        var generator = SystemRandomNumberGenerator()
        let sources = [MaskKeySource(using: &generator), MaskKeySource(using: &generator)]
        let keys = sources.indices.flatMap { index in (0..<2000).map { _ in sources[index].next().bits } }
        // Two of 4000 random keys are equal in one of 500 runs. Five equal pairs practically never occur.
        #expect(Set(keys).count > 3995)
        // Each bit is set in about half of them.
        for bit in 0..<32 {
            let count = keys.count { $0 >> bit & 1 == 1 }
            #expect((1700...2300).contains(count), "bit \(bit) is set in \(count)")
        }
    }
}
