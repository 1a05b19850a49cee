/// SHA-1 (RFC 3174), for `Sec-WebSocket-Accept` only: nothing here rests on its strength.
enum SHA1 {
    static func digest(_ message: [UInt8]) -> [UInt8] {
        let bitCount = UInt64(message.count) &* 8
        let zeros = (119 - message.count % 64) % 64
        let padded = message + [0x80] + Array(repeating: 0, count: zeros) + bigEndian(bitCount)
        var state: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0]
        var words = [UInt32](repeating: 0, count: 80)
        for block in stride(from: 0, to: padded.count, by: 64) {
            for t in 0..<16 {
                words[t] = padded[(block + 4 * t)..<(block + 4 * t + 4)].reduce(0) { $0 << 8 | UInt32($1) }
            }
            for t in 16..<80 { words[t] = rotated(words[t - 3] ^ words[t - 8] ^ words[t - 14] ^ words[t - 16], by: 1) }
            mix(words, into: &state)
        }
        return state.flatMap(bigEndian)
    }

    private static func mix(_ words: [UInt32], into state: inout [UInt32]) {
        var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
        for (t, word) in words.enumerated() {
            let (f, k): (UInt32, UInt32) =
                switch t {
                case 0..<20: ((b & c) | (~b & d), 0x5A82_7999)
                case 20..<40: (b ^ c ^ d, 0x6ED9_EBA1)
                case 40..<60: ((b & c) | (b & d) | (c & d), 0x8F1B_BCDC)
                default: (b ^ c ^ d, 0xCA62_C1D6)
                }
            (a, b, c, d, e) = (rotated(a, by: 5) &+ f &+ e &+ k &+ word, a, rotated(b, by: 30), c, d)
        }
        for (i, value) in [a, b, c, d, e].enumerated() { state[i] &+= value }
    }

    private static func rotated(_ word: UInt32, by count: UInt32) -> UInt32 { word << count | word >> (32 - count) }

    private static func bigEndian<Word: FixedWidthInteger>(_ word: Word) -> [UInt8] {
        stride(from: Word.bitWidth - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> $0) }
    }
}
