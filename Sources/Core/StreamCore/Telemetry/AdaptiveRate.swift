public import MachineCore

/// Says which share of a series to keep, by what waits to be sent and by how long round trips take.
///
/// The share is halved when too much waits or a round trip took too long, and grows by a step after a time in which all went well:
/// additive increase, multiplicative decrease. Between too much and little lies a band in which nothing changes.
public struct AdaptiveRate: Machine, Hashable {
    /// What became known.
    public enum Input: Hashable, Sendable {
        /// So many bytes wait to be sent.
        case backlog(Int)
        /// A round trip took so long.
        case roundTrip(Duration)
        /// There is another connection: what its round trips take is yet to be learnt.
        case connected
    }
    /// What to do.
    public enum Effect: Hashable, Sendable {
        /// Keep this share from now on.
        case keep(SampleShare)
        /// Say again how much waits, with ``Input/backlog(_:)``.
        case look
    }

    /// The share that is kept.
    public private(set) var share = SampleShare.all
    /// When to look again; nil while all is kept.
    public private(set) var deadline: Moment?
    private let policy: AdaptiveRatePolicy
    private var shortest: Duration?
    /// Before this nothing more is taken away.
    private var mayLowerAt = Moment.start
    /// Before this nothing more is given back.
    private var mayRaiseAt = Moment.start
    /// The last round trip was too long to keep more, and that is not yet too long ago to tell anything.
    private var isSlowUntil: Moment?
    /// How many intervals a round trip tells something of the present.
    private static let memory = 10

    /// All is kept, until something speaks against it.
    public init(_ policy: AdaptiveRatePolicy = AdaptiveRatePolicy()) {
        var policy = policy
        // Without one it would look all the time.
        policy.interval = max(policy.interval, .milliseconds(1))
        self.policy = policy
    }

    /// Applies one input and appends what must be done about it, in order.
    public mutating func handle(_ input: Input, at now: Moment, into effects: inout [Effect]) {
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

    /// Asks for a look if it is time for one; calling early or twice is harmless.
    public mutating func wake(at now: Moment, into effects: inout [Effect]) {
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

/// When a series is thinned out because the link does not keep up, and how far.
public struct AdaptiveRatePolicy: Hashable, Sendable {
    /// More bytes than this that wait to be sent are too many, and half of it or less is few; by default 64 KiB.
    public var backlog: Int
    /// A round trip of more than so many times the shortest one is too long, and half of that or less is short; by default 4.
    public var roundTripFactor: Int
    /// No round trip up to this is too long, whatever the shortest was; by default 300 ms.
    public var roundTripFloor: Duration
    /// The least share that is kept; by default 1 of 32.
    public var least: SampleShare
    /// How much more is kept after an ``interval`` in which all went well; by default 1/16 of all values.
    public var step: SampleShare
    /// The time between two changes in the same direction, and how long all must go well before more is kept; by default a second.
    public var interval: Duration

    /// A policy.
    public init(
        backlog: Int = 64 << 10, roundTripFactor: Int = 4, roundTripFloor: Duration = .milliseconds(300),
        least: SampleShare = .oneOf(32), step: SampleShare = .oneOf(16), interval: Duration = .seconds(1)
    ) {
        (self.backlog, self.roundTripFactor, self.roundTripFloor) = (backlog, roundTripFactor, roundTripFloor)
        (self.least, self.step, self.interval) = (least, step, interval)
    }
}

/// How many of a series of values are kept: parts of 1024, at least one.
public struct SampleShare: Hashable, Comparable, Sendable {
    /// What stands for all.
    public static let denominator = 1024
    /// All of them.
    public static let all = SampleShare(parts: denominator)

    /// How many of 1024.
    public let parts: Int

    /// So many of 1024; at least one, and no more than all.
    public init(parts: Int) { self.parts = min(max(parts, 1), Self.denominator) }

    /// One of so many.
    public static func oneOf(_ count: Int) -> SampleShare { SampleShare(parts: denominator / max(count, 1)) }

    /// Between 0 and 1.
    public var fraction: Double { Double(parts) / Double(Self.denominator) }

    /// Whether `lhs` keeps less than `rhs`.
    public static func < (lhs: SampleShare, rhs: SampleShare) -> Bool { lhs.parts < rhs.parts }
}

/// Keeps a share of a series evenly and without chance: of any m values in a row the share of m, rounded up or down.
///
/// The first value is always kept. After a change of the share the promise holds for what comes from there on.
public struct EvenSampler: Hashable, Sendable {
    /// How much of a value is owed, in parts; less than a whole one.
    private var credit = SampleShare.denominator - 1

    /// A sampler that has seen nothing.
    public init() {}

    /// Whether the next value is kept.
    public mutating func keeps(_ share: SampleShare) -> Bool {
        credit += share.parts
        guard credit >= SampleShare.denominator else { return false }
        credit -= SampleShare.denominator
        return true
    }
}
