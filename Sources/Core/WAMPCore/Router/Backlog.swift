package import MachineCore

/// What waits to be sent to one client: whose doing it is, and what becomes of more.
///
/// A client's queue is filled by others: by callers, callees and publishers. Whoever fills it is held, which means that the router reads
/// nothing more of it, until the client has taken some of that. A client that takes too little in that time holds nobody any longer: what
/// finds no room is refused, and it is cut off only for events, and only if it is slower than any client may be, or for what it asked
/// for itself and does not take.
///
/// A client has an allowance of time for which others wait: see ``Bounds/window``. It is spent while somebody is held, at the brisk
/// rate a client earns as much as it spends, and it grows back slowly. So a client that stalls and catches up by turns delays others
/// for a few seconds a minute, whatever it does.
package struct Backlog: Sendable {
    /// How much may wait, and how slow a client may be.
    package struct Bounds: Hashable, Sendable {
        /// Bytes that others may make wait, and as many again that the client asked for itself.
        let waiting: Int
        /// Bytes a second that every client can be held to take while something waits for it.
        let slowest: Int

        package init(waiting: Int, slowest: Int) { (self.waiting, self.slowest) = (max(waiting, 1), max(slowest, 1)) }

        /// Bytes that one other may make wait before it is held, if there are not many.
        var share: Int { max(waiting / 4, 1) }
        /// Bytes a second at which a client may let others wait for as long as it likes.
        var brisk: Double { 4 * Double(slowest) }
        /// How long a client is looked at before it counts as slow: who sends it less than the slowest rate is never held.
        var window: Duration { .seconds(min(Double(share) / Double(slowest), 3600)) }
    }

    /// What a message is to its receiver.
    package enum Kind: Hashable, Sendable {
        /// An answer to what it asked for, or a word of the router's own: these are bounded by what the client itself does.
        case own
        /// What others send to it alone; it can be refused, and they are told.
        case exchange
        /// What others publish; it can only be left out.
        case event
    }

    /// A message in numbers.
    package struct Load: Hashable, Sendable {
        package let bytes: Int
        package let kind: Kind
        /// Who sent what it comes of; nil: nobody.
        package let cause: RouterConnection?

        package init(bytes: Int, kind: Kind, cause: RouterConnection?) { (self.bytes, self.kind, self.cause) = (bytes, kind, cause) }
    }

    /// What becomes of a message that cannot leave at once.
    package enum Verdict: Hashable, Sendable {
        /// It waits.
        case kept
        /// There is no room for it.
        case refused
        /// The client is to be cut off.
        case overrun
    }

    /// What others are told.
    package enum Effect: Hashable, Sendable {
        /// Nothing more is to be read of this client.
        case hold(RouterConnection)
        /// This client may go on.
        case release(RouterConnection)
    }

    private let bounds: Bounds
    /// Bytes that wait and that the client asked for itself.
    package private(set) var own = 0
    private var others = 0
    private var events = 0
    /// Bytes that wait, by whose doing it is.
    private var shares: [RouterConnection?: Int] = [:]
    private var held: Set<RouterConnection> = []
    /// Since when the client is looked at, and what it has taken since; nil: nothing waits.
    private var since: Moment?
    private var taken = 0
    /// It took too little when it was last looked at.
    private var isSlow = false
    /// Seconds of the allowance that are spent, as of when.
    private var spent = 0.0
    private var spentAt = Moment.start
    /// All of the allowance was spent, and half of it has not grown back: nobody is held.
    private var isWorn = false

    /// Nothing waits.
    package init(_ bounds: Bounds) { self.bounds = bounds }

    /// When to wake it if nothing else happens first.
    package var deadline: Moment? {
        guard !held.isEmpty, let since else { return nil }
        return min(since + bounds.window, spentAt + .seconds(max(allowance - spent, 0)))
    }

    /// A message cannot leave at once.
    ///
    /// - Parameter isCrowded: There is little room beside this queue, too: whoever fills it is held at once.
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
        // Whoever waits for a slow client would wait as long as that likes.
        let isMuch = isCrowded || mine + load.bytes > fairShare || others > bounds.waiting / 4 * 3
        guard let cause = load.cause, !isSlow, !isWorn, isMuch else { return .kept }
        if held.insert(cause).inserted { effects.append(.hold(cause)) }
        return .kept
    }

    /// Whether there is no room for this now, and nobody would be cut off for it.
    package func refuses(_ load: Load) -> Bool { load.kind != .own && verdict(load) == .refused }

    /// What becomes of a message that comes of others.
    private func verdict(_ load: Load) -> Verdict {
        let mine = shares[load.cause] ?? 0
        let fits = others + load.bytes <= bounds.waiting && mine + load.bytes <= bounds.waiting / 2
        // A long message may come by itself.
        guard !fits, mine > 0 || others > bounds.share else { return .kept }
        let isFullOfEvents = load.kind == .event && events + load.bytes > bounds.waiting / 2
        return isSlow && isFullOfEvents ? .overrun : .refused
    }

    /// A message that waited has left.
    package mutating func remove(_ load: Load, at now: Moment, into effects: inout [Effect]) {
        spend(until: now)
        taken += load.bytes
        // Only what those are waiting for that are held: else others could pay for the delay.
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
        // What has no bytes does not count.
        if own == 0, others == 0 { clear(at: now, into: &effects) }
    }

    /// Nothing waits any more; what the client has delayed others is remembered.
    package mutating func clear(at now: Moment, into effects: inout [Effect]) {
        spend(until: now)
        release(into: &effects)
        (own, others, events, shares) = (0, 0, 0, [:])
        (since, taken, isSlow) = (nil, 0, false)
    }

    /// Looks at what the client has taken, when it is time to.
    package mutating func wake(at now: Moment, into effects: inout [Effect]) {
        spend(until: now)
        if isWorn { release(into: &effects) }
        guard let since, now - since >= bounds.window else { return }
        isSlow = Double(taken) < Double(bounds.slowest) * (now - since).inSeconds
        (self.since, taken) = (now, 0)
        if isSlow { release(into: &effects) }
    }

    /// For how many seconds others wait for a client that takes nothing.
    private var allowance: Double { bounds.window.inSeconds }

    /// Time has passed: it is spent if somebody is held, and a sixteenth of it grows back if not.
    private mutating func spend(until now: Moment) {
        let passed = max((now - spentAt).inSeconds, 0)
        spentAt = max(spentAt, now)
        spent = held.isEmpty ? max(spent - passed / 16, 0) : min(spent + passed, allowance)
        // What a deadline was rounded by makes no difference.
        if spent >= allowance - 1e-6 { isWorn = true } else if spent <= allowance / 2 { isWorn = false }
    }

    /// Bytes that one of so many may make wait before it is held: all together half of what may wait.
    private var fairShare: Int { min(bounds.share, max(bounds.waiting / 2 / max(shares.count, 1), 1)) }

    private mutating func release(into effects: inout [Effect]) {
        effects += held.sorted { $0.number < $1.number }.map { .release($0) }
        held = []
    }
}

extension Duration {
    fileprivate var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
