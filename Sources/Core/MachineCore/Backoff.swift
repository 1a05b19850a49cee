/// Computes how long to wait before the next connection attempt: exponential backoff with jitter.
///
/// The n-th wait in a row has the ceiling `min(base × 2ⁿ⁻¹, cap)`. The jitter shortens it by a random share, so that clients do not all
/// return at once. With a base of 1 s the ceilings are 1, 2, 4, 8 s. They are the same after a failed first attempt and after a lost
/// connection.
public struct Backoff: Hashable, Sendable {
    /// How the wait is drawn below its ceiling.
    public enum Jitter: Hashable, Sendable {
        /// Uniform between `minimum` and the ceiling. Spreads a large number of clients best.
        case full
        /// Uniform between half of the ceiling and the ceiling.
        case equal
        /// The ceiling minus a random share of it, at most this fraction; 0 means no jitter. The default is 0.3.
        ///
        /// The wait never exceeds the ceiling. If jitter only added time, all clients that reached the cap would return at once.
        case proportional(Double = 0.3)
    }

    /// The ceiling of the first wait after a failed attempt or a lost connection; 500 ms by default.
    ///
    /// The caller may make the wait longer, as `ReconnectPolicy.spacing` does.
    public var base: Duration
    /// The longest possible wait; 30 s by default.
    public var cap: Duration
    /// The shortest possible wait, unless `cap` is shorter; 100 ms by default.
    public var minimum: Duration
    /// How the wait is drawn; ``Jitter/full`` by default.
    public var jitter: Jitter

    /// Creates a backoff with these limits.
    public init(
        base: Duration = .milliseconds(500), cap: Duration = .seconds(30), minimum: Duration = .milliseconds(100), jitter: Jitter = .full
    ) {
        (self.base, self.cap, self.minimum, self.jitter) = (base, cap, minimum, jitter)
    }

    /// Returns the longest possible wait of this attempt, counted from 1: `base`, doubled for each later attempt, at most `cap`.
    public func ceiling(attempt: Int) -> Duration {
        var ceiling = min(base, cap)
        for _ in 1..<min(max(attempt, 1), 64) where ceiling < cap { ceiling = min(ceiling + ceiling, cap) }
        return ceiling
    }

    /// Returns the wait before this attempt, counted from 1.
    public func delay(attempt: Int, using generator: inout some RandomNumberGenerator) -> Duration {
        let ceiling = ceiling(attempt: attempt)
        let low =
            switch jitter {
            case .full: min(minimum, ceiling)
            case .equal: ceiling * 0.5
            case .proportional(let fraction): ceiling * (1 - fraction.clamped)
            }
        let drawn = low + (ceiling - low) * Double.random(in: 0...1, using: &generator)
        return max(.zero, min(max(drawn, minimum), cap))
    }
}

extension Double {
    /// The number limited to 0...1; 0 if it is not a number.
    fileprivate var clamped: Double { self > 0 ? min(self, 1) : 0 }
}

/// A deterministic random number generator: the same seed gives the same numbers on every machine.
///
/// Use it for jitter and for tests. Anyone who sees a few of its numbers can compute all later ones, so do not use it for mask keys or
/// other values that must not be guessed.
///
/// Source: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014.
public struct SplitMix64: RandomNumberGenerator, Hashable, Sendable {
    private var state: UInt64

    /// Creates a generator that starts at this seed.
    ///
    /// All seeds are equally good.
    public init(seed: UInt64) { state = seed }

    /// Returns the next 64 bits.
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
