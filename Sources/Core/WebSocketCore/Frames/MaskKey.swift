/// The four bytes that hide a client's payload from proxies (RFC 6455 §5.3).
public struct MaskKey: Hashable, Sendable {
    /// The four bytes as they lie in memory, in network order.
    public var bits: UInt32

    /// The key whose four bytes lie in memory as those of `bits` do.
    @inlinable public init(bits: UInt32) { self.bits = bits }

    /// Masks or unmasks in place.
    ///
    /// `phase` is how many bytes of the same payload came before these.
    @inlinable
    public func apply(to bytes: UnsafeMutableRawBufferPointer, phase: Int = 0) {
        unsafe copy(UnsafeRawBufferPointer(bytes), to: bytes, phase: phase)
    }

    /// Masks or unmasks while copying.
    ///
    /// `destination` must be at least as long as `source`; the two are the same memory or do not overlap.
    /// `phase` is how many bytes of the same payload came before these.
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

    /// The key's bytes, beginning with the one for byte number `phase` of the payload.
    private func rotated(by phase: Int) -> UInt32 {
        let shift = UInt32(truncatingIfNeeded: phase & 3) &* 8
        let key = UInt32(littleEndian: bits)
        return (key &>> shift | key &<< (32 &- shift)).littleEndian
    }
}
