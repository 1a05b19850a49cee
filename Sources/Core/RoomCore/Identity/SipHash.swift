/// SipHash-2-4: a short keyed hash that is unpredictable without the key.
///
/// Source: Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012.
package struct SipHash {
    private var (v0, v1, v2, v3): (UInt64, UInt64, UInt64, UInt64)
    private var count: UInt64 = 0
    /// The bytes of an incomplete word; the first byte is the lowest.
    private var rest: UInt64 = 0

    package init(key: Bits128) {
        (v0, v1) = (key.low ^ 0x736F_6D65_7073_6575, key.high ^ 0x646F_7261_6E64_6F6D)
        (v2, v3) = (key.low ^ 0x6C79_6765_6E65_7261, key.high ^ 0x7465_6462_7974_6573)
    }

    /// Adds a byte.
    package mutating func combine(_ byte: UInt8) {
        rest |= UInt64(byte) << (8 * (count & 7))
        count &+= 1
        guard count & 7 == 0 else { return }
        compress(rest)
        rest = 0
    }

    /// Adds a word, lowest byte first; only words may have been added before.
    package mutating func combine(_ word: UInt64) {
        count &+= 8
        compress(word)
    }

    /// Returns the hash of everything that was added.
    package func finish() -> UInt64 {
        var hash = self
        hash.compress(rest | count << 56)
        hash.v2 ^= 0xFF
        for _ in 0..<4 { hash.round() }
        return hash.v0 ^ hash.v1 ^ hash.v2 ^ hash.v3
    }

    private mutating func compress(_ word: UInt64) {
        v3 ^= word
        round()
        round()
        v0 ^= word
    }

    private mutating func round() {
        v0 &+= v1
        v2 &+= v3
        v1 = v0 ^ Self.turn(v1, 13)
        v3 = v2 ^ Self.turn(v3, 16)
        v0 = Self.turn(v0, 32)
        v2 &+= v1
        v0 &+= v3
        v1 = v2 ^ Self.turn(v1, 17)
        v3 = v0 ^ Self.turn(v3, 21)
        v2 = Self.turn(v2, 32)
    }

    private static func turn(_ word: UInt64, _ bits: UInt64) -> UInt64 { word << bits | word >> (64 - bits) }
}

/// A hub's proof that an entry of its log is at a cursor.
///
/// The client stores the proof with the cursor and sends it when it joins. Only the hub can make a proof, and a proof reveals nothing to
/// others. With it, the hub notices that its log has gone back.
public struct CursorProof: Hashable, Sendable, CustomStringConvertible {
    package let bits: Bits128

    package init(_ bits: Bits128) { self.bits = bits }

    /// Reads 32 hexadecimal digits.
    public init?(_ text: String) {
        guard let bits = Bits128(digits: text, dashes: false) else { return nil }
        self.bits = bits
    }

    /// The proof as 32 hexadecimal digits.
    public var description: String { bits.digits }
}
