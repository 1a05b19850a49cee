/// SHA-1 (RFC 3174), for `Sec-WebSocket-Accept` only: nothing here rests on its strength.
enum SHA1 {
    static func digest(_ message: [UInt8]) -> [UInt8] {
        let padded = padded(message)
        var state = State()
        unsafe withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 80) { words in
            for block in stride(from: 0, to: padded.count, by: 64) {
                unsafe expand(padded, from: block, into: words)
                unsafe state.mix(words)
            }
        }
        var digest: [UInt8] = []
        digest.reserveCapacity(20)
        for word in [state.a, state.b, state.c, state.d, state.e] { appendBigEndian(word, to: &digest) }
        return digest
    }

    /// A one bit, zeros, and the length in bits, so that the blocks are full.
    private static func padded(_ message: [UInt8]) -> [UInt8] {
        var bytes = message
        bytes.append(0x80)
        bytes += repeatElement(0, count: (119 - message.count % 64) % 64)
        appendBigEndian(UInt64(message.count) &* 8, to: &bytes)
        return bytes
    }

    private static func expand(_ bytes: [UInt8], from block: Int, into words: UnsafeMutableBufferPointer<UInt32>) {
        unsafe bytes.withUnsafeBytes { bytes in
            for t in 0..<16 { unsafe words[t] = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: block + 4 * t, as: UInt32.self)) }
        }
        for t in 16..<80 { unsafe words[t] = rotated(words[t - 3] ^ words[t - 8] ^ words[t - 14] ^ words[t - 16], by: 1) }
    }

    private struct State {
        var (a, b, c, d, e): (UInt32, UInt32, UInt32, UInt32, UInt32) = (0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0)

        mutating func mix(_ words: UnsafeMutableBufferPointer<UInt32>) {
            let before = self
            for t in 0..<20 { unsafe step((b & c) | (~b & d), 0x5A82_7999 &+ words[t]) }
            for t in 20..<40 { unsafe step(b ^ c ^ d, 0x6ED9_EBA1 &+ words[t]) }
            for t in 40..<60 { unsafe step((b & c) | (b & d) | (c & d), 0x8F1B_BCDC &+ words[t]) }
            for t in 60..<80 { unsafe step(b ^ c ^ d, 0xCA62_C1D6 &+ words[t]) }
            (a, b, c, d, e) = (a &+ before.a, b &+ before.b, c &+ before.c, d &+ before.d, e &+ before.e)
        }

        private mutating func step(_ choice: UInt32, _ word: UInt32) {
            (a, b, c, d, e) = (rotated(a, by: 5) &+ choice &+ e &+ word, a, rotated(b, by: 30), c, d)
        }
    }

    private static func rotated(_ word: UInt32, by count: UInt32) -> UInt32 { word << count | word >> (32 - count) }

    private static func appendBigEndian(_ word: some FixedWidthInteger, to bytes: inout [UInt8]) {
        var shift = word.bitWidth
        while shift > 0 {
            shift -= 8
            bytes.append(UInt8(truncatingIfNeeded: word >> shift))
        }
    }
}
