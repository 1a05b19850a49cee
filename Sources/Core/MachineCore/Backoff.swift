/// How long to wait before connecting again: longer each time, up to a limit, and never all clients at once.
///
/// The n-th wait in a row is at most its ceiling, `min(base × 2ⁿ⁻¹, cap)`; the jitter takes a share of it off. So with a base of 1 s the
/// ceilings are 1, 2, 4, 8 s, after a first attempt that failed as well as after the loss of a connection.
public struct Backoff: Hashable, Sendable {
    /// How the wait is drawn, given its ceiling.
    public enum Jitter: Hashable, Sendable {
        /// Anywhere from `minimum` up to the ceiling: spreads a crowd of clients the most.
        case full
        /// Anywhere in the upper half below the ceiling.
        case equal
        /// The ceiling, less at most this fraction of it; 0 for no chance at all, by default 0.3.
        ///
        /// Never more than the ceiling: at the cap, chance that only adds would bring all clients back at once.
        case proportional(Double = 0.3)
    }

    /// The ceiling of the first wait, whatever it follows; by default 500 ms.
    ///
    /// What uses it may make it longer, as `ReconnectPolicy.spacing` does.
    public var base: Duration
    /// The most that any wait can be; by default 30 s.
    public var cap: Duration
    /// The least that any wait can be, unless `cap` is less; by default 100 ms.
    public var minimum: Duration
    /// How the wait is drawn; by default ``Jitter/full``.
    public var jitter: Jitter

    /// A backoff with these bounds.
    public init(
        base: Duration = .milliseconds(500), cap: Duration = .seconds(30), minimum: Duration = .milliseconds(100), jitter: Jitter = .full
    ) {
        (self.base, self.cap, self.minimum, self.jitter) = (base, cap, minimum, jitter)
    }

    /// The most that the wait of this number in a row can be, counted from 1: `base` doubled for each one after the first, at most `cap`.
    public func ceiling(attempt: Int) -> Duration {
        var ceiling = min(base, cap)
        for _ in 1..<min(max(attempt, 1), 64) where ceiling < cap { ceiling = min(ceiling + ceiling, cap) }
        return ceiling
    }

    /// The wait of this number in a row, counted from 1.
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
    /// Between 0 and 1; 0 if not a number.
    fileprivate var clamped: Double { self > 0 ? min(self, 1) : 0 }
}

/// Chance that follows from a seed: the same seed gives the same numbers on every machine.
///
/// Good for jitter and for tests. Whoever sees a few numbers can tell all later ones, so it is
/// not for mask keys or anything else that must not be guessed.
/// Source: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014.
public struct SplitMix64: RandomNumberGenerator, Hashable, Sendable {
    private var state: UInt64

    /// A generator that starts at this seed; every seed is as good as any other.
    public init(seed: UInt64) { state = seed }

    /// The next 64 bits.
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
