/// The hash of the handshake (RFC 3174); SwiftNIO's own is not public.
enum SHA1 {
    static func digest(_ message: [UInt8]) -> [UInt8] {
        var state: (UInt32, UInt32, UInt32, UInt32, UInt32) = (0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0)
        let padded = padded(message)
        withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 80) { words in
            for block in stride(from: 0, to: padded.count, by: 64) {
                expand(padded[block..<block + 64], into: words)
                mix(words, into: &state)
            }
        }
        return [state.0, state.1, state.2, state.3, state.4].flatMap { word in
            [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: word >> $0) }
        }
    }

    /// A one bit, zeros, and the length in bits, so that the blocks are full.
    private static func padded(_ message: [UInt8]) -> [UInt8] {
        var bytes = message
        bytes.append(0x80)
        bytes.append(contentsOf: repeatElement(0, count: (120 - bytes.count % 64) % 64))
        bytes.append(contentsOf: (0..<8).map { UInt8(truncatingIfNeeded: (message.count * 8) >> (56 - 8 * $0)) })
        return bytes
    }

    private static func expand(_ block: ArraySlice<UInt8>, into words: UnsafeMutableBufferPointer<UInt32>) {
        var byte = block.startIndex
        for index in 0..<16 {
            words[index] = (0..<4).reduce(0) { $0 << 8 | UInt32(block[byte + $1]) }
            byte += 4
        }
        for index in 16..<80 {
            words[index] = rotated(words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16], by: 1)
        }
    }

    private static func mix(_ words: UnsafeMutableBufferPointer<UInt32>, into state: inout (UInt32, UInt32, UInt32, UInt32, UInt32)) {
        var (a, b, c, d, e) = state
        for index in 0..<80 {
            let (choice, constant): (UInt32, UInt32) =
                switch index {
                case ..<20: (b & c | ~b & d, 0x5A82_7999)
                case ..<40: (b ^ c ^ d, 0x6ED9_EBA1)
                case ..<60: (b & c | b & d | c & d, 0x8F1B_BCDC)
                default: (b ^ c ^ d, 0xCA62_C1D6)
                }
            let next = rotated(a, by: 5) &+ choice &+ e &+ constant &+ words[index]
            (a, b, c, d, e) = (next, a, rotated(b, by: 30), c, d)
        }
        state = (state.0 &+ a, state.1 &+ b, state.2 &+ c, state.3 &+ d, state.4 &+ e)
    }

    private static func rotated(_ word: UInt32, by bits: UInt32) -> UInt32 { word << bits | word >> (32 - bits) }
}
