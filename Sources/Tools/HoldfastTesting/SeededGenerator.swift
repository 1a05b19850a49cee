internal import MachineCore

/// A random generator with a seed, so that a failed test can be repeated exactly.
///
/// Do not use it for secrets: a few of its numbers reveal all later ones.
public struct SeededGenerator: RandomNumberGenerator, Hashable, Sendable {
    private var numbers: SplitMix64

    /// Creates a generator with this seed.
    public init(seed: UInt64) { numbers = SplitMix64(seed: seed) }

    /// Returns the next 64 bits.
    public mutating func next() -> UInt64 { numbers.next() }
}
