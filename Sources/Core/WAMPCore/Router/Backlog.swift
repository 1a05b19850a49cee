package import MachineCore

/// What waits to be sent to one client: whose doing it is, and what becomes of more.
///
/// A client's queue is filled by others: by callers, callees and publishers. Whoever fills it is held, which means that the router reads
/// nothing more of it, until the client has taken some of that. A client that takes too little in that time holds nobody any longer: what
/// finds no room is refused, and it is cut off only for events, and only if it is slower than any client may be, or for what it asked
/// for itself and does not take.
package struct Backlog: Sendable {
    /// How much may wait, and how slow a client may be.
    package struct Bounds: Hashable, Sendable {
        /// Bytes that others may make wait, and as many again that the client asked for itself.
        let waiting: Int
        /// Bytes a second that every client can be held to take while something waits for it.
        let slowest: Int

        package init(waiting: Int, slowest: Int) { (self.waiting, self.slowest) = (max(waiting, 1), max(slowest, 1)) }

        /// Bytes that one other may make wait before it is held, if it is the only one.
        var share: Int { max(waiting / 4, 1) }
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
    private var own = 0
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

    /// Nothing waits.
    package init(_ bounds: Bounds) { self.bounds = bounds }

    /// When to wake it if nothing else happens first.
    package var deadline: Moment? { held.isEmpty ? nil : since.map { $0 + bounds.window } }

    /// A message cannot leave at once.
    package mutating func add(_ load: Load, at now: Moment, into effects: inout [Effect]) -> Verdict {
        wake(at: now, into: &effects)
        guard load.kind != .own else {
            own += load.bytes
            since = since ?? now
            return own <= bounds.waiting ? .kept : .overrun
        }
        let mine = shares[load.cause] ?? 0
        let fits = others + load.bytes <= bounds.waiting && mine + load.bytes <= bounds.waiting / 2
        // A long message may come by itself.
        guard fits || mine == 0 && others <= bounds.share else {
            let isFullOfEvents = load.kind == .event && events + load.bytes > bounds.waiting / 2
            return isSlow && isFullOfEvents ? .overrun : .refused
        }
        since = since ?? now
        others += load.bytes
        if load.kind == .event { events += load.bytes }
        shares[load.cause] = mine + load.bytes
        // Whoever waits for a slow client would wait as long as that likes.
        if let cause = load.cause, !isSlow, mine + load.bytes > fairShare, held.insert(cause).inserted { effects.append(.hold(cause)) }
        return .kept
    }

    /// A message that waited has left.
    package mutating func remove(_ load: Load, into effects: inout [Effect]) {
        taken += load.bytes
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
        if own == 0, others == 0 { clear(into: &effects) }
    }

    /// Nothing waits any more, or will.
    package mutating func clear(into effects: inout [Effect]) {
        release(into: &effects)
        self = Backlog(bounds)
    }

    /// Looks at what the client has taken, when it is time to.
    package mutating func wake(at now: Moment, into effects: inout [Effect]) {
        guard let since, now - since >= bounds.window else { return }
        let (seconds, attoseconds) = (now - since).components
        isSlow = Double(taken) < Double(bounds.slowest) * (Double(seconds) + Double(attoseconds) / 1e18)
        (self.since, taken) = (now, 0)
        if isSlow { release(into: &effects) }
    }

    /// Bytes that one of so many may make wait before it is held.
    private var fairShare: Int { max(bounds.share / max(shares.count, 1), bounds.share / 16) }

    private mutating func release(into effects: inout [Effect]) {
        effects += held.sorted { $0.number < $1.number }.map { .release($0) }
        held = []
    }
}
