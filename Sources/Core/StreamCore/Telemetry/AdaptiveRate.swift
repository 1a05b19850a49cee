package import MachineCore

/// Decides which share of a series to send, from the send backlog and the round-trip times.
///
/// The share is halved if the backlog is too large or a round trip took too long. It grows by one step after an interval without problems:
/// additive increase, multiplicative decrease. Between the limits for lowering and raising there is a band in which nothing changes.
package struct AdaptiveRate: Machine, Hashable {
    /// A measurement.
    package enum Input: Hashable, Sendable {
        /// This many bytes wait to be sent.
        case backlog(Int)
        /// A round trip took this long.
        case roundTrip(Duration)
        /// A new connection is open: its shortest round trip is not yet known.
        case connected
    }
    /// The action to take.
    package enum Effect: Hashable, Sendable {
        /// Keep this share from now on.
        case keep(SampleShare)
        /// Report the backlog again with ``Input/backlog(_:)``.
        case look
    }

    /// The current share.
    package private(set) var share = SampleShare.all
    /// When to check the backlog again; nil while everything is kept.
    package private(set) var deadline: Moment?
    private let policy: AdaptiveRatePolicy
    private var shortest: Duration?
    /// The earliest moment at which the share may be lowered again.
    private var mayLowerAt = Moment.start
    /// The earliest moment at which the share may be raised again.
    private var mayRaiseAt = Moment.start
    /// Until when the last round trip, which was slow, prevents raising the share.
    private var isSlowUntil: Moment?
    /// The number of intervals for which a round trip stays relevant.
    private static let memory = 10

    /// Creates a rate that keeps everything at first.
    package init(_ policy: AdaptiveRatePolicy = AdaptiveRatePolicy()) {
        var policy = policy
        // Without a minimum, it would check all the time.
        policy.interval = max(policy.interval, .milliseconds(1))
        self.policy = policy
    }

    /// Applies one input and appends the resulting effects in order.
    package mutating func handle(_ input: Input, at now: Moment, into effects: inout [Effect]) {
        switch input {
        case .backlog(let bytes):
            if bytes > policy.backlog {
                lower(at: now, into: &effects)
            } else if bytes <= policy.backlog / 2 {
                raise(at: now, into: &effects)
            } else {
                mayRaiseAt = now + policy.interval
            }
        case .roundTrip(let time):
            let shortest = min(shortest ?? time, time)
            self.shortest = shortest
            let limit = max(shortest * max(policy.roundTripFactor, 1), policy.roundTripFloor)
            isSlowUntil = time > limit / 2 ? now + policy.interval * Self.memory : nil
            if time > limit { lower(at: now, into: &effects) }
        case .connected: (shortest, isSlowUntil) = (nil, nil)
        }
    }

    /// Asks for a check of the backlog if one is due.
    ///
    /// Early and repeated calls are harmless.
    package mutating func wake(at now: Moment, into effects: inout [Effect]) {
        guard let deadline, now >= deadline else { return }
        self.deadline = now + policy.interval
        effects.append(.look)
    }

    private mutating func lower(at now: Moment, into effects: inout [Effect]) {
        mayRaiseAt = now + policy.interval
        guard now >= mayLowerAt, share > policy.least else { return }
        mayLowerAt = now + policy.interval
        change(to: max(SampleShare(parts: share.parts / 2), policy.least), at: now, into: &effects)
    }

    private mutating func raise(at now: Moment, into effects: inout [Effect]) {
        if let isSlowUntil, now < isSlowUntil { return }
        guard now >= mayRaiseAt, share < .all else { return }
        mayRaiseAt = now + policy.interval
        change(to: SampleShare(parts: share.parts + policy.step.parts), at: now, into: &effects)
    }

    private mutating func change(to share: SampleShare, at now: Moment, into effects: inout [Effect]) {
        self.share = share
        deadline = share < .all ? now + policy.interval : nil
        effects.append(.keep(share))
    }
}

/// When and how far a series is thinned out because the link cannot keep up.
public struct AdaptiveRatePolicy: Hashable, Sendable {
    /// The backlog in bytes above which the share is lowered; at half of it or less the share may grow.
    ///
    /// 64 KiB by default.
    public var backlog: Int
    /// A round trip is too long if it takes more than this many times the shortest one; at half of that or less the share may grow.
    ///
    /// 4 by default.
    public var roundTripFactor: Int
    /// Round trips up to this length are never too long, whatever the shortest was; 300 ms by default.
    public var roundTripFloor: Duration
    /// The smallest share that is kept; 1 of 32 by default.
    public var least: SampleShare
    /// By how much the share grows after an ``interval`` without problems; 1/16 of all values by default.
    public var step: SampleShare
    /// The minimum time between two changes in the same direction, and the time without problems before the share grows; 1 s by default.
    public var interval: Duration

    /// Creates a policy.
    public init(
        backlog: Int = 64 << 10, roundTripFactor: Int = 4, roundTripFloor: Duration = .milliseconds(300),
        least: SampleShare = .oneOf(32), step: SampleShare = .oneOf(16), interval: Duration = .seconds(1)
    ) {
        (self.backlog, self.roundTripFactor, self.roundTripFloor) = (backlog, roundTripFactor, roundTripFloor)
        (self.least, self.step, self.interval) = (least, step, interval)
    }
}

/// A share of a series of values, in parts of 1024; at least one part.
public struct SampleShare: Hashable, Comparable, Sendable {
    /// The number of parts that stands for all values.
    public static let denominator = 1024
    /// All values.
    public static let all = SampleShare(parts: denominator)

    /// The number of parts of 1024.
    public let parts: Int

    /// Creates a share of this many parts of 1024, limited to 1...1024.
    public init(parts: Int) { self.parts = min(max(parts, 1), Self.denominator) }

    /// Returns the share of one value in this many.
    public static func oneOf(_ count: Int) -> SampleShare { SampleShare(parts: denominator / max(count, 1)) }

    /// The share as a number between 0 and 1.
    public var fraction: Double { Double(parts) / Double(Self.denominator) }

    /// Returns whether `lhs` keeps less than `rhs`.
    public static func < (lhs: SampleShare, rhs: SampleShare) -> Bool { lhs.parts < rhs.parts }
}

/// Selects a share of a series evenly and without randomness: of any m values in a row, the share of m, rounded up or down.
///
/// The first value is always kept. After a change of the share, this holds for the values that follow.
package struct EvenSampler: Hashable, Sendable {
    /// The accumulated share, in parts; less than one whole value.
    private var credit = SampleShare.denominator - 1

    /// Creates a sampler that has seen nothing.
    package init() {}

    /// Returns whether to keep the next value.
    package mutating func keeps(_ share: SampleShare) -> Bool {
        credit += share.parts
        guard credit >= SampleShare.denominator else { return false }
        credit -= SampleShare.denominator
        return true
    }
}
