package import MachineCore

/// The outbound queue of one client: it records which clients cause its content, and decides about further messages.
///
/// Callers, callees and publishers fill a client's queue. When a sender fills it too much, the sender is held: the router reads nothing
/// more from it until the client has taken some of its messages. A client that takes too little in that time no longer holds anybody, and
/// messages that do not fit are refused. The router disconnects a client only if events do not fit and it is slower than the slowest
/// allowed rate, or if it does not take answers to its own requests.
///
/// A client has an allowance of time for which others wait: see ``Bounds/window``. The allowance is spent while a sender is held. At the
/// `brisk` rate, a client earns as much as it spends; otherwise the allowance grows back slowly. So a client that stalls and catches up
/// alternately delays others for only a few seconds per minute.
package struct Backlog: Sendable {
    /// How much may wait, and how slow a client may be.
    package struct Bounds: Hashable, Sendable {
        /// The maximum number of waiting bytes caused by others, and separately of bytes that the client itself requested.
        let waiting: Int
        /// The rate in bytes per second that every client must be able to take while something waits for it.
        let slowest: Int

        package init(waiting: Int, slowest: Int) { (self.waiting, self.slowest) = (max(waiting, 1), max(slowest, 1)) }

        /// The maximum number of waiting bytes caused by one sender before it is held, if there are few senders.
        var share: Int { max(waiting / 4, 1) }
        /// The rate in bytes per second at which a client may let others wait without a time limit.
        var brisk: Double { 4 * Double(slowest) }
        /// How long a client is observed before it counts as slow; a sender below the slowest rate is never held.
        var window: Duration { .seconds(min(Double(share) / Double(slowest), 3600)) }
    }

    /// The role of a message for its receiver.
    package enum Kind: Hashable, Sendable {
        /// An answer to the client's own request, or a message of the router itself: the client's own behaviour limits these.
        case own
        /// A message from another client to this one alone; it can be refused, and the sender is told.
        case exchange
        /// An event; it can only be left out.
        case event
    }

    /// The size and role of a message.
    package struct Load: Hashable, Sendable {
        package let bytes: Int
        package let kind: Kind
        /// The client whose message caused this one; nil: none.
        package let cause: RouterConnection?

        package init(bytes: Int, kind: Kind, cause: RouterConnection?) { (self.bytes, self.kind, self.cause) = (bytes, kind, cause) }
    }

    /// The decision on a message that cannot be sent at once.
    package enum Verdict: Hashable, Sendable {
        /// It is queued.
        case kept
        /// There is no space for it.
        case refused
        /// The client must be disconnected.
        case overrun
    }

    /// An effect on other clients.
    package enum Effect: Hashable, Sendable {
        /// Stops reading from this client.
        case hold(RouterConnection)
        /// Resumes reading from this client.
        case release(RouterConnection)
    }

    private let bounds: Bounds
    /// The queued bytes that the client itself requested.
    package private(set) var own = 0
    private var others = 0
    private var events = 0
    /// The queued bytes per sender.
    private var shares: [RouterConnection?: Int] = [:]
    private var held: Set<RouterConnection> = []
    /// The start of the observation, and the bytes taken since; nil: the queue is empty.
    private var since: Moment?
    private var taken = 0
    /// Whether the client took too little in the last observation.
    private var isSlow = false
    /// The spent seconds of the allowance, and the time of that count.
    private var spent = 0.0
    private var spentAt = Moment.start
    /// Whether the allowance was used up and half of it has not grown back yet: no sender is held.
    private var isWorn = false

    /// Creates an empty queue.
    package init(_ bounds: Bounds) { self.bounds = bounds }

    /// When to call `wake` if nothing else happens first.
    package var deadline: Moment? {
        guard !held.isEmpty, let since else { return nil }
        return min(since + bounds.window, spentAt + .seconds(max(allowance - spent, 0)))
    }

    /// Adds a message that cannot be sent at once.
    ///
    /// - Parameter isCrowded: Whether space outside this queue is scarce, too: then any sender that fills it is held at once.
    package mutating func add(_ load: Load, isCrowded: Bool = false, at now: Moment, into effects: inout [Effect]) -> Verdict {
        wake(at: now, into: &effects)
        guard load.kind != .own else {
            own += load.bytes
            since = since ?? now
            return own <= bounds.waiting ? .kept : .overrun
        }
        let verdict = verdict(load)
        guard verdict == .kept else { return verdict }
        let mine = shares[load.cause] ?? 0
        since = since ?? now
        others += load.bytes
        if load.kind == .event { events += load.bytes }
        shares[load.cause] = mine + load.bytes
        // A sender that waits for a slow client would wait as long as that client wants.
        let isMuch = isCrowded || mine + load.bytes > fairShare || others > bounds.waiting / 4 * 3
        guard let cause = load.cause, !isSlow, !isWorn, isMuch else { return .kept }
        if held.insert(cause).inserted { effects.append(.hold(cause)) }
        return .kept
    }

    /// Returns whether the message would be refused now without disconnecting the client.
    package func refuses(_ load: Load) -> Bool { load.kind != .own && verdict(load) == .refused }

    /// Returns the decision on a message from another client.
    private func verdict(_ load: Load) -> Verdict {
        let mine = shares[load.cause] ?? 0
        let fits = others + load.bytes <= bounds.waiting && mine + load.bytes <= bounds.waiting / 2
        // A single long message is accepted.
        guard !fits, mine > 0 || others > bounds.share else { return .kept }
        let isFullOfEvents = load.kind == .event && events + load.bytes > bounds.waiting / 2
        return isSlow && isFullOfEvents ? .overrun : .refused
    }

    /// Removes a queued message that has been sent.
    package mutating func remove(_ load: Load, at now: Moment, into effects: inout [Effect]) {
        spend(until: now)
        taken += load.bytes
        // Count only bytes that held senders wait for; otherwise other traffic could pay for the delay.
        if let cause = load.cause, held.contains(cause) { spent = max(spent - Double(load.bytes) / bounds.brisk, 0) }
        if load.kind == .own {
            own -= load.bytes
        } else {
            others -= load.bytes
            if load.kind == .event { events -= load.bytes }
            let left = (shares[load.cause] ?? 0) - load.bytes
            shares[load.cause] = left > 0 ? left : nil
            if let cause = load.cause, left <= fairShare / 2, held.remove(cause) != nil { effects.append(.release(cause)) }
        }
        // A message without bytes does not count as waiting.
        if own == 0, others == 0 { clear(at: now, into: &effects) }
    }

    /// Empties the queue; the delay that the client has caused others is remembered.
    package mutating func clear(at now: Moment, into effects: inout [Effect]) {
        spend(until: now)
        release(into: &effects)
        (own, others, events, shares) = (0, 0, 0, [:])
        (since, taken, isSlow) = (nil, 0, false)
    }

    /// Checks how much the client has taken, when the observation is over.
    package mutating func wake(at now: Moment, into effects: inout [Effect]) {
        spend(until: now)
        if isWorn { release(into: &effects) }
        guard let since, now - since >= bounds.window else { return }
        isSlow = Double(taken) < Double(bounds.slowest) * (now - since).inSeconds
        (self.since, taken) = (now, 0)
        if isSlow { release(into: &effects) }
    }

    /// The seconds for which others wait for a client that takes nothing.
    private var allowance: Double { bounds.window.inSeconds }

    /// Updates the allowance: passed time is spent if a sender is held; otherwise a sixteenth of it grows back.
    private mutating func spend(until now: Moment) {
        let passed = max((now - spentAt).inSeconds, 0)
        spentAt = max(spentAt, now)
        spent = held.isEmpty ? max(spent - passed / 16, 0) : min(spent + passed, allowance)
        // The tolerance covers rounded deadlines.
        if spent >= allowance - 1e-6 { isWorn = true } else if spent <= allowance / 2 { isWorn = false }
    }

    /// The bytes that each sender may queue before it is held: half of the maximum, divided among all senders.
    private var fairShare: Int { min(bounds.share, max(bounds.waiting / 2 / max(shares.count, 1), 1)) }

    private mutating func release(into effects: inout [Effect]) {
        effects += held.sorted { $0.number < $1.number }.map { .release($0) }
        held = []
    }
}

extension Duration {
    fileprivate var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
