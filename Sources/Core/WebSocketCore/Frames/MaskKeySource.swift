/// Mask keys that nobody can guess, not even from the keys before them (RFC 6455 §5.3).
///
/// A seed from the system's generator is stretched by ChaCha12, sixteen keys a block: that costs a hundredth of asking the system
/// for every key. Source: D. J. Bernstein, "ChaCha, a variant of Salsa20", 2008; layout of RFC 8439 §2.3.
public struct MaskKeySource {
    private let key: (SIMD4<UInt32>, SIMD4<UInt32>)
    private var counter: UInt64 = 0
    private var block = SIMD16<UInt32>()
    private var used = 16

    /// A source whose 256 bits of seed come from `generator`, which has to be one for secrets.
    public init(using generator: inout some RandomNumberGenerator) {
        func row(_ generator: inout some RandomNumberGenerator) -> SIMD4<UInt32> {
            let (low, high) = (generator.next(), generator.next())
            return SIMD4(
                UInt32(truncatingIfNeeded: low), UInt32(truncatingIfNeeded: low >> 32), UInt32(truncatingIfNeeded: high),
                UInt32(truncatingIfNeeded: high >> 32))
        }
        key = (row(&generator), row(&generator))
    }

    /// The next key.
    public mutating func next() -> MaskKey {
        if used == 16 {
            let position = SIMD4(UInt32(truncatingIfNeeded: counter), UInt32(truncatingIfNeeded: counter >> 32), 0, 0)
            block = Self.block(key.0, key.1, position, doubleRounds: 6)
            (counter, used) = (counter &+ 1, 0)
        }
        defer { used &+= 1 }
        return MaskKey(bits: block[used])
    }

    /// The ChaCha block function (RFC 8439 §2.3); `position` is the counter and the nonce.
    static func block(
        _ low: SIMD4<UInt32>, _ high: SIMD4<UInt32>, _ position: SIMD4<UInt32>, doubleRounds: Int
    ) -> SIMD16<UInt32> {
        let constant = SIMD4<UInt32>(0x6170_7865, 0x3320_646E, 0x7962_2D32, 0x6B20_6574)
        var (a, b, c, d) = (constant, low, high, position)
        for _ in 0..<doubleRounds {
            quarterRounds(&a, &b, &c, &d)
            (b, c, d) = (b[1, 2, 3, 0], c[2, 3, 0, 1], d[3, 0, 1, 2])
            quarterRounds(&a, &b, &c, &d)
            (b, c, d) = (b[3, 0, 1, 2], c[2, 3, 0, 1], d[1, 2, 3, 0])
        }
        return SIMD16(lowHalf: SIMD8(lowHalf: a &+ constant, highHalf: b &+ low), highHalf: SIMD8(lowHalf: c &+ high, highHalf: d &+ position))
    }

    /// Four quarter rounds side by side, one a lane (RFC 8439 §2.1).
    @inline(__always)
    private static func quarterRounds(
        _ a: inout SIMD4<UInt32>, _ b: inout SIMD4<UInt32>, _ c: inout SIMD4<UInt32>, _ d: inout SIMD4<UInt32>
    ) {
        a &+= b
        d = (d ^ a).rotated(by: 16)
        c &+= d
        b = (b ^ c).rotated(by: 12)
        a &+= b
        d = (d ^ a).rotated(by: 8)
        c &+= d
        b = (b ^ c).rotated(by: 7)
    }
}

extension SIMD4<UInt32> {
    @inline(__always)
    fileprivate func rotated(by count: UInt32) -> Self { self &<< count | self &>> (32 &- count) }

    /// The lanes in another order.
    @inline(__always)
    fileprivate subscript(_ first: Int, _ second: Int, _ third: Int, _ fourth: Int) -> Self {
        Self(self[first], self[second], self[third], self[fourth])
    }
}
