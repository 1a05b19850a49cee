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
