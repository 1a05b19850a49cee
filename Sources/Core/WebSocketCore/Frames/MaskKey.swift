/// The four bytes that mask a client's payload, to protect proxies (RFC 6455 §5.3).
public struct MaskKey: Hashable, Sendable {
    /// The four bytes as they lie in memory, in network order.
    public var bits: UInt32

    /// Creates the key from four bytes that lie in memory like those of `bits`.
    @inlinable public init(bits: UInt32) { self.bits = bits }

    /// Masks or unmasks in place.
    ///
    /// `phase` is the number of bytes of the same payload before these.
    @inlinable
    public func apply(to bytes: UnsafeMutableRawBufferPointer, phase: Int = 0) {
        unsafe copy(UnsafeRawBufferPointer(bytes), to: bytes, phase: phase)
    }

    /// Masks or unmasks while copying.
    ///
    /// `destination` must be at least as long as `source`. Both must be the same memory or not overlap. `phase` is the number of bytes of
    /// the same payload before these.
    public func copy(_ source: UnsafeRawBufferPointer, to destination: UnsafeMutableRawBufferPointer, phase: Int = 0) {
        precondition(destination.count >= source.count, "the destination is shorter than the source")
        guard let from = source.baseAddress, let to = destination.baseAddress else { return }
        let count = source.count
        var key = rotated(by: phase)
        var offset = 0

        // Every step is a multiple of four bytes, so the key stays in phase.
        let wide = SIMD16(repeating: key)
        while count &- offset >= 64 {
            let block = unsafe from.loadUnaligned(fromByteOffset: offset, as: SIMD16<UInt32>.self)
            unsafe to.storeBytes(of: block ^ wide, toByteOffset: offset, as: SIMD16<UInt32>.self)
            offset &+= 64
        }
        let narrow = SIMD4(repeating: key)
        while count &- offset >= 16 {
            let block = unsafe from.loadUnaligned(fromByteOffset: offset, as: SIMD4<UInt32>.self)
            unsafe to.storeBytes(of: block ^ narrow, toByteOffset: offset, as: SIMD4<UInt32>.self)
            offset &+= 16
        }
        while count &- offset >= 4 {
            let word = unsafe from.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
            unsafe to.storeBytes(of: word ^ key, toByteOffset: offset, as: UInt32.self)
            offset &+= 4
        }
        key = UInt32(littleEndian: key)
        while offset < count {
            let byte = unsafe from.load(fromByteOffset: offset, as: UInt8.self)
            unsafe to.storeBytes(of: byte ^ UInt8(truncatingIfNeeded: key), toByteOffset: offset, as: UInt8.self)
            key >>= 8
            offset &+= 1
        }
    }

    /// Returns the key's bytes, beginning with the one for byte number `phase` of the payload.
    private func rotated(by phase: Int) -> UInt32 {
        let shift = UInt32(truncatingIfNeeded: phase & 3) &* 8
        let key = UInt32(littleEndian: bits)
        return (key &>> shift | key &<< (32 &- shift)).littleEndian
    }
}

/// Generates mask keys that cannot be predicted, not even from earlier keys (RFC 6455 §5.3).
///
/// ChaCha8 expands a seed from the system's generator, sixteen keys per block. This costs a hundredth of asking the system for every key.
/// Sources: D. J. Bernstein, "ChaCha, a variant of Salsa20", 2008; the layout of RFC 8439 §2.3; eight rounds as in J.-P. Aumasson, "Too
/// Much Crypto", 2019.
///
/// This is a class because a copied value would generate the same keys again. In addition, its vectors would increase the size and
/// alignment of every type that contains it.
public final class MaskKeySource {
    /// 256 bits of seed, then the block number, then zeros.
    private var input: SIMD16<UInt32>
    private var block = SIMD16<UInt32>()
    private var used = 16

    /// Creates a source with a 256-bit seed from `generator`, which must be cryptographically secure.
    public init(using generator: inout some RandomNumberGenerator) {
        input = Self.constant
        for lane in 4..<12 { input[lane] = UInt32(truncatingIfNeeded: generator.next()) }
    }

    /// Returns the next key.
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

    /// The ChaCha block function (RFC 8439 §2.3): takes constant, key, counter and nonce, and returns sixteen words.
    ///
    /// It works word by word, which keeps everything in registers. With vectors, the compiler takes them apart to rotate them.
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

extension UnsafeRawBufferPointer {
    /// Removes the first `count` bytes and returns them.
    mutating func takeFirst(_ count: Int) -> UnsafeRawBufferPointer {
        let first = unsafe UnsafeRawBufferPointer(rebasing: self[..<count])
        unsafe self = UnsafeRawBufferPointer(rebasing: self[count...])
        return unsafe first
    }

    /// Copies all bytes, unmasking them if there is a key.
    func copy(to destination: UnsafeMutableRawBufferPointer, mask: MaskKey?, phase: Int) {
        if let mask {
            unsafe mask.copy(self, to: destination, phase: phase)
        } else {
            unsafe destination.copyMemory(from: self)
        }
    }
}

extension [UInt8] {
    /// Appends a piece of a payload, unmasked; `remaining` is the number of bytes of the frame that are still to come, including these.
    ///
    /// A peer may announce a wrong length. Therefore at most 64 KiB, or three times the bytes received so far, are reserved in advance.
    mutating func append(_ piece: UnsafeRawBufferPointer, mask: MaskKey?, phase: Int, expecting remaining: Int) {
        let (needed, promised) = (count + piece.count, remaining > Int.max - count ? Int.max : count + remaining)
        let ahead = Swift.min(promised, Swift.max(64 * 1024, needed * 4))
        if ahead > capacity * 2 { reserveCapacity(ahead) }  // Below that, appending grows it geometrically.
        // In blocks that stay in the nearest cache between copying and unmasking.
        var offset = 0
        while offset < piece.count {
            let block = unsafe UnsafeRawBufferPointer(rebasing: piece[offset...].prefix(16 * 1024))
            let start = count
            unsafe append(contentsOf: block)
            if let mask {
                unsafe withUnsafeMutableBytes {
                    unsafe mask.apply(to: UnsafeMutableRawBufferPointer(rebasing: $0[start...]), phase: phase + offset)
                }
            }
            offset += block.count
        }
    }
}
