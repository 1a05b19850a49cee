internal import MachineCore

/// Chance that follows from a seed, so a failing test can be run again exactly as it failed.
///
/// Not for secrets: a few of its numbers tell all later ones.
public struct SeededGenerator: RandomNumberGenerator, Hashable, Sendable {
    private var numbers: SplitMix64

    /// A generator whose numbers follow from this seed.
    public init(seed: UInt64) { numbers = SplitMix64(seed: seed) }

    /// The next 64 bits.
    public mutating func next() -> UInt64 { numbers.next() }
}
