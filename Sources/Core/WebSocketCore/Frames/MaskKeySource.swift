/// Mask keys that nobody can guess, not even from the keys before them (RFC 6455 §5.3).
///
/// A seed from the system's generator is stretched by ChaCha8, sixteen keys a block: that costs a hundredth of asking the system
/// for every key. Sources: D. J. Bernstein, "ChaCha, a variant of Salsa20", 2008; the layout of RFC 8439 §2.3; eight rounds as in
/// J.-P. Aumasson, "Too Much Crypto", 2019.
///
/// An object: a copy would give the same keys again. Besides, its vectors would make whatever holds them large and wide apart.
public final class MaskKeySource {
    /// 256 bits of seed, then the number of the block, then nothing.
    private var input: SIMD16<UInt32>
    private var block = SIMD16<UInt32>()
    private var used = 16

    /// A source whose 256 bits of seed come from `generator`, which has to be one for secrets.
    public init(using generator: inout some RandomNumberGenerator) {
        input = Self.constant
        for lane in 4..<12 { input[lane] = UInt32(truncatingIfNeeded: generator.next()) }
    }

    /// The next key.
    public func next() -> MaskKey {
        if used == 16 { refill() }
        defer { used &+= 1 }
        return MaskKey(bits: block[used])
    }

    @inline(never)
    private func refill() {
        block = Self.block(input, doubleRounds: 4)
        used = 0
        input[12] &+= 1
        if input[12] == 0 { input[13] &+= 1 }
    }

    /// `expand 32-byte k` in the first four words.
    static let constant = SIMD16<UInt32>(
        lowHalf: SIMD8(lowHalf: SIMD4(0x6170_7865, 0x3320_646E, 0x7962_2D32, 0x6B20_6574), highHalf: SIMD4()), highHalf: SIMD8())

    /// The ChaCha block function (RFC 8439 §2.3): constant, key, counter and nonce in, sixteen words out.
    ///
    /// Word by word, for that leaves all in registers; the compiler takes vectors apart to rotate them.
    static func block(_ input: SIMD16<UInt32>, doubleRounds: Int) -> SIMD16<UInt32> {
        var (a0, a1, a2, a3) = (input[0], input[1], input[2], input[3])
        var (b0, b1, b2, b3) = (input[4], input[5], input[6], input[7])
        var (c0, c1, c2, c3) = (input[8], input[9], input[10], input[11])
        var (d0, d1, d2, d3) = (input[12], input[13], input[14], input[15])
        for _ in 0..<doubleRounds {
            quarterRound(&a0, &b0, &c0, &d0)
            quarterRound(&a1, &b1, &c1, &d1)
            quarterRound(&a2, &b2, &c2, &d2)
            quarterRound(&a3, &b3, &c3, &d3)
            quarterRound(&a0, &b1, &c2, &d3)
            quarterRound(&a1, &b2, &c3, &d0)
            quarterRound(&a2, &b3, &c0, &d1)
            quarterRound(&a3, &b0, &c1, &d2)
        }
        let low = SIMD8(a0, a1, a2, a3, b0, b1, b2, b3)
        let high = SIMD8(c0, c1, c2, c3, d0, d1, d2, d3)
        return SIMD16(lowHalf: low, highHalf: high) &+ input
    }

    /// RFC 8439 §2.1.
    @inline(__always)
    private static func quarterRound(_ a: inout UInt32, _ b: inout UInt32, _ c: inout UInt32, _ d: inout UInt32) {
        a &+= b
        d = rotated(d ^ a, by: 16)
        c &+= d
        b = rotated(b ^ c, by: 12)
        a &+= b
        d = rotated(d ^ a, by: 8)
        c &+= d
        b = rotated(b ^ c, by: 7)
    }

    @inline(__always)
    private static func rotated(_ word: UInt32, by count: UInt32) -> UInt32 { word &<< count | word &>> (32 &- count) }
}
