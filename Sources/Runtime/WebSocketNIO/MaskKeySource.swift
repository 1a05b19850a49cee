import WebSocketCore

/// Mask keys from the system's generator, two a call.
///
/// RFC 6455 §5.3: a key must not be predictable, not even from the keys before it.
struct MaskKeySource {
    private var spare: UInt32?
    private var generator = SystemRandomNumberGenerator()

    mutating func next() -> MaskKey {
        if let bits = spare.take() { return MaskKey(bits: bits) }
        let pair = generator.next()
        spare = UInt32(truncatingIfNeeded: pair >> 32)
        return MaskKey(bits: UInt32(truncatingIfNeeded: pair))
    }
}
