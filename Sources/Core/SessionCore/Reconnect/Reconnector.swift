public import MachineCore

/// Decides whether and when to connect again, where, and with which credentials.
///
/// It is the one owner of reconnecting. Each connection has a generation, and news of any but the present ones is ignored: two errors
/// of one connection never start two reconnects. At most one connection or attempt exists at any time, and two only while handing over.
///
/// | Promise | Rule |
/// |---|---|
/// | no busy loop | two attempts never begin within ``ReconnectPolicy/spacing`` |
/// | no endless wait | no wait is longer than ``ReconnectPolicy/longestWait`` |
/// | the server is heeded | no attempt at an endpoint before its `Retry-After` is over, at most ``ReconnectPolicy/longestRetryAfter`` |
/// | a flapping link is left alone | a lasting or ready connection, a returned network, a fresh release and `disconnect` alone start it afresh |
/// | the app has the last word | after `disconnect`, nothing is tried until `start` |
public struct Reconnector: Machine, Hashable {
    /// One attempt at a connection, and the connection that it may become.
    public struct Attempt: Hashable, Sendable {
        /// The failures in a row before it, and one; counted from 1.
        public let number: Int
        /// Its name in all news of it; greater than that of every earlier one.
        public let generation: UInt64
        /// Which endpoint to connect to, counted from 0.
        public let endpoint: Int
        /// Whether the credentials at hand were refused, so that new ones must be asked for.
        public let refreshesCredentials: Bool

        /// An attempt, as a ``Reconnector`` makes them; for tests of what carries it out.
        public init(number: Int, generation: UInt64, endpoint: Int = 0, refreshesCredentials: Bool = false) {
            (self.number, self.generation) = (number, generation)
            (self.endpoint, self.refreshesCredentials) = (endpoint, refreshesCredentials)
        }
    }
    /// What the session is doing.
    public enum Phase: Hashable, Sendable {
        /// Not started, disconnected by the app, or lost while the policy does not reconnect.
        ///
        /// → `connecting`, `waiting` or `held` on `start` and `retryNow`, → `stopped` on `stop`.
        case idle
        /// → `connected` on `opened`, → `waiting`, `connecting`, `idle` or `stopped` on `lost`, → `held` on `hold`, → `stopped` on `stop`.
        ///
        /// From here and from every phase below but the last: → `idle` on `disconnect`.
        case connecting(Attempt)
        /// → `handingOver` on `handOver`, → `waiting`, `connecting`, `held`, `idle` or `stopped` on `lost`,
        /// → `held` on `hold` unless it keeps what is open, → `stopped` on `stop`.
        case connected(Attempt, since: Moment)
        /// The old connection serves while the next one is made.
        ///
        /// → `connected` with the new one on its `opened`, with the old one on the new one's `lost` or a `hold` that keeps it,
        /// → `connecting` on the old one's `lost`, → `held` on any other `hold`, → `stopped` on `stop`.
        case handingOver(Attempt, since: Moment, to: Attempt)
        /// → `connecting` at `until`, or sooner on `networkReturned` and `retryNow`, → `held` on `hold`, → `stopped` on `stop`.
        case waiting(until: Moment, attempt: Int)
        /// In the background, or without a network: there is no connection, and none is tried.
        ///
        /// → `connecting` or `waiting` on `release`, → `stopped` on `stop`.
        case held
        /// Over for good.
        case stopped(StopReason)
    }
    /// Why there will be no more attempts.
    public enum StopReason: Hashable, Sendable {
        /// The app asked for it.
        case asked
        /// Connecting again cannot help.
        case refused(Loss)
        /// The last failure that the policy allows.
        case exhausted(Loss)
    }
    /// What can happen to a session that matters to its connecting.
    public enum Input: Hashable, Sendable {
        /// The app wants a connection: the first one, or one after `disconnect`. Ignored unless `idle`.
        case start
        /// The app wants no connection until `start`: gives up what is open or under way. Not the end, and no failure.
        case disconnect
        /// The app wants the next attempt now: cuts a wait short, and starts if `idle`.
        ///
        /// Only spacing and `Retry-After` still hold the attempt back. The count of failures stays, and so does a hold.
        case retryNow
        /// The connection of this generation is open.
        case opened(generation: UInt64)
        /// The connection of this generation, or the attempt at it, is gone.
        case lost(generation: UInt64, Loss)
        /// A protocol runs over the connections from now on, or none does any more: see ``ReconnectPolicy/stableAfter``.
        case awaitReadiness(Bool)
        /// The protocol says that the connection of this generation serves it: it counts as stable.
        ///
        /// Also told of the last connection that was lost, for its loss may be known before its last messages are read.
        case ready(generation: UInt64)
        /// The protocol gives up the connection of this generation: its loss counts as a failure, however ready it was, and however long it lasted.
        ///
        /// Told late as ``ready(generation:)`` is.
        case rejected(generation: UInt64)
        /// The device has a network again: what failed before may work now. Only spacing and `Retry-After` still hold the next attempt back.
        case networkReturned
        /// Try nothing until `release`; what is open stays until it is lost, or is given up at once.
        case hold(keepingOpen: Bool)
        /// Try again, as soon as spacing and `Retry-After` allow if fresh, which forgives all failures; otherwise when the backoff does too.
        case release(fresh: Bool)
        /// Replace the connection by a new one, for its credentials expire or a better network is there. Make before break.
        ///
        /// If the new one fails, the old one stays, and whoever asked may ask again. Without a connection there is nothing to hand over.
        case handOver
        /// The app wants no more.
        case stop
    }
    /// What to do, and what became known.
    public enum Effect: Hashable, Sendable {
        /// Open a connection; tell the generation with everything that becomes of it.
        case connect(Attempt)
        /// Close the connection of this generation, or give up the attempt at it. Nothing that becomes of it matters any more.
        case disconnect(generation: UInt64)
        /// A newer connection has taken over from this one: send what it still has to send, then close it.
        case retire(generation: UInt64)
        /// The phase is now this one.
        case report(Phase)
    }

    /// What the session is doing.
    public internal(set) var phase = Phase.idle
    /// Which attempt is the newest; 0 before the first.
    public internal(set) var generation: UInt64 = 0
    /// Whether nothing is to be tried: even of an open connection, the loss will not be mended before `release`.
    public internal(set) var isHeld = false
    let policy: ReconnectPolicy
    let endpoints: Int
    let hasCredentials: Bool
    var random: SplitMix64

    /// Failures in a row.
    var failures = 0
    /// Losses in a row, which say how long the next wait is: the failures, and the loss of a lasting connection if they began with one.
    var setbacks = 0
    /// Which endpoint is next.
    var endpoint = 0
    /// When the backoff is over.
    var due = Moment.start
    /// When the newest attempt is old enough for another.
    var spaced = Moment.start
    /// Until when an endpoint asked to be left alone.
    var barred: [Int: Moment] = [:]
    var needsRefresh = false
    /// Connections count as stable when a protocol says that they are ready, and not by how long they last.
    var awaitsReadiness = false
    /// The last connection of which a protocol said that it is ready, or that it gives it up.
    var verdict: Verdict?
    /// The last connection that was lost, and the counts before that; nil where no protocol judges any.
    var lastLoss: CountedLoss?
    /// A hand-over was asked for too soon after the newest attempt.
    var wantsHandOver = false

    /// A session that has not started.
    ///
    /// - Parameters:
    ///   - policy: When to try again, and when to give up.
    ///   - endpoints: How many there are to choose from, at least 1; the first is tried first, the next one after each failure.
    ///   - hasCredentials: Whether new credentials can be asked for when they are refused.
    ///   - seed: Where the jitter starts; give each client another, or they all come back at once.
    public init(policy: ReconnectPolicy = ReconnectPolicy(), endpoints: Int = 1, hasCredentials: Bool = false, seed: UInt64) {
        (self.policy, self.endpoints, self.hasCredentials) = (policy, max(endpoints, 1), hasCredentials)
        random = SplitMix64(seed: seed)
    }

    /// Applies one input and appends what must be done about it, in order.
    public mutating func handle(_ input: Input, at now: Moment, into effects: inout [Effect]) {
        if case .stopped = phase { return }
        switch input {
        case .start: start(at: now, into: &effects)
        case .disconnect: disconnect(into: &effects)
        case .retryNow: retryNow(at: now, into: &effects)
        case .opened(let generation): noteOpened(generation, at: now, into: &effects)
        case .lost(let generation, let loss): noteLost(generation, loss, at: now, into: &effects)
        case .awaitReadiness(let isAwaited): awaitsReadiness = isAwaited
        case .ready(let generation): judge(generation, isReady: true, at: now, into: &effects)
        case .rejected(let generation): judge(generation, isReady: false, at: now, into: &effects)
        case .networkReturned: startAfresh(at: now, into: &effects)
        case .hold(let keepsOpen): hold(keepingOpen: keepsOpen, at: now, into: &effects)
        case .release(let isFresh): release(fresh: isFresh, at: now, into: &effects)
        case .handOver: askForHandOver(at: now, into: &effects)
        case .stop: stop(into: &effects)
        }
    }

    /// When the wait, or that for a hand-over, is over; nil if there is none.
    public var deadline: Moment? {
        switch phase {
        case .waiting(let until, _): until
        case .connected where wantsHandOver: earliest(endpoint)
        case .idle, .connecting, .connected, .handingOver, .held, .stopped: nil
        }
    }

    /// Connects if the wait is over; calling early or twice is harmless.
    public mutating func wake(at now: Moment, into effects: inout [Effect]) {
        guard let deadline, now >= deadline else { return }
        if case .connected(let old, let since) = phase {
            handOver(from: old, since: since, at: now, into: &effects)
        } else {
            enter(.connecting(begin(at: now, into: &effects)), into: &effects)
        }
    }

    /// Connects as soon as the backoff, the spacing and the server allow.
    mutating func proceed(at now: Moment, into effects: inout [Effect]) {
        if isHeld { return enter(.held, into: &effects) }
        let until = max(due, earliest(endpoint))
        if until > now { return enter(.waiting(until: until, attempt: failures + 1), into: &effects) }
        enter(.connecting(begin(at: now, into: &effects)), into: &effects)
    }

    /// The next attempt, on its way.
    mutating func begin(at now: Moment, into effects: inout [Effect]) -> Attempt {
        generation &+= 1
        spaced = now + policy.spacing
        barred[endpoint] = nil
        let attempt = Attempt(number: failures + 1, generation: generation, endpoint: endpoint, refreshesCredentials: needsRefresh)
        effects.append(.connect(attempt))
        return attempt
    }

    /// When an attempt at this endpoint may begin, whatever the backoff says.
    func earliest(_ endpoint: Int) -> Moment { max(spaced, barred[endpoint] ?? .start) }

    /// Goes on to the next endpoint in turn, past those that ask for more patience than the others.
    mutating func rotate() {
        let turn = (1...endpoints).map { (endpoint + $0) % endpoints }
        endpoint = turn.min { max(due, earliest($0)) < max(due, earliest($1)) } ?? 0
    }

    /// Keeps what a loss says about the attempts to come.
    mutating func note(_ loss: Loss, of attempt: Attempt, at now: Moment) {
        if policy.losses[loss.cause] == .refreshCredentials { needsRefresh = true }
        if let patience = loss.retryAfter, patience > .zero { barred[attempt.endpoint] = now + min(patience, policy.longestRetryAfter) }
    }

    mutating func enter(_ phase: Phase, into effects: inout [Effect]) {
        guard phase != self.phase else { return }
        self.phase = phase
        effects.append(.report(phase))
    }
}

/// What a protocol says of the connections it runs over: one that is ready is healthy at once, and one that only stays open is not.
extension Reconnector {
    struct Verdict: Hashable {
        let generation: UInt64
        let isReady: Bool
    }
    struct CountedLoss: Hashable {
        let generation: UInt64
        let failures, setbacks: Int
        var wasStable: Bool
        /// It lasted as long as a connection must without a protocol.
        let hasLasted: Bool
    }

    mutating func judge(_ generation: UInt64, isReady: Bool, at now: Moment, into effects: inout [Effect]) {
        // What was given up does not become ready any more.
        if let verdict, verdict.generation > generation || verdict.generation == generation && !verdict.isReady { return }
        verdict = Verdict(generation: generation, isReady: isReady)
        guard let lastLoss, lastLoss.generation == generation, lastLoss.wasStable != isReady else { return }
        self.lastLoss?.wasStable = isReady
        // What was good for long begins a new count, as if it had been told in time.
        if !isReady, lastLoss.hasLasted { (failures, setbacks) = (1, 1) } else { count(lastLoss, wasStable: isReady) }
        guard case .waiting = phase else { return }
        let end = now + spread(policy.backoff.delay(attempt: setbacks, using: &random), at: now)
        due = isReady ? min(due, end) : max(due, end)
        proceed(at: now, into: &effects)
    }

    /// Whether a connection was good enough for its loss to start the count afresh.
    ///
    /// A flapping link keeps its backoff.
    func isStable(_ attempt: Attempt, since: Moment, at now: Moment) -> Bool {
        if let verdict, verdict.generation == attempt.generation { return verdict.isReady }
        return !awaitsReadiness && now - since >= policy.stableAfter
    }

    /// Whether the protocol gave it up.
    func isRejected(_ attempt: Attempt) -> Bool { verdict == Verdict(generation: attempt.generation, isReady: false) }

    /// Counts the loss of a connection, which may be counted anew once more is known of it.
    mutating func countLoss(of attempt: Attempt, wasStable: Bool, hasLasted: Bool) {
        let loss = CountedLoss(
            generation: attempt.generation, failures: failures, setbacks: setbacks, wasStable: wasStable, hasLasted: hasLasted)
        count(loss, wasStable: wasStable)
        lastLoss = awaitsReadiness ? loss : nil
    }

    private mutating func count(_ loss: CountedLoss, wasStable: Bool) {
        failures = wasStable ? 0 : loss.failures + 1
        setbacks = wasStable ? 1 : loss.setbacks + 1
    }
}

/// When a ``Reconnector`` connects again, how soon, and when it gives up.
public struct ReconnectPolicy: Hashable, Sendable {
    /// Whether a loss is followed by another attempt; by default it is.
    ///
    /// If not, the session is disconnected after any loss that is worth another attempt, and the app decides when to connect again. A loss
    /// that ``losses`` calls final is the end in any case.
    public var isAutomatic: Bool
    /// The waits between attempts.
    public var backoff: Backoff
    /// The most failures in a row; by default unlimited, and 0 for none: the first loss is the end.
    ///
    /// An attempt that fails counts, and so does a connection that was not stable, see ``stableAfter``.
    public var maximumAttempts: Int
    /// How long a connection must last before its loss starts the count afresh; by default 10 s.
    ///
    /// A link that flaps faster keeps its backoff. Where a protocol runs over the socket, such as rooms, WAMP or one of your own, its word counts
    /// instead: a connection is stable once the protocol is ready, and not if the protocol gives it up.
    public var stableAfter: Duration
    /// The least time from the start of one attempt to the start of the next; by default 1 s.
    ///
    /// It holds whatever flaps: the link, the network, or the app between background and foreground. A backoff that would be over
    /// sooner begins when it ends, so that clients which are turned away together do not come back together.
    public var spacing: Duration
    /// Which losses are worth another attempt.
    public var losses: LossTable
    /// The most that a server's `Retry-After` is obeyed; by default 5 minutes.
    public var longestRetryAfter: Duration

    /// A policy; by default it never gives up.
    public init(
        backoff: Backoff = Backoff(), maximumAttempts: Int = .max, stableAfter: Duration = .seconds(10), spacing: Duration = .seconds(1),
        losses: LossTable = .standard, longestRetryAfter: Duration = .seconds(300), isAutomatic: Bool = true
    ) {
        (self.backoff, self.maximumAttempts, self.stableAfter) = (backoff, maximumAttempts, stableAfter)
        (self.spacing, self.losses, self.longestRetryAfter) = (spacing, losses, longestRetryAfter)
        self.isAutomatic = isAutomatic
    }

    /// The most that any wait can be, whatever happens.
    public var longestWait: Duration { max(.zero, backoff.cap, longestRetryAfter, spacing) }
}
