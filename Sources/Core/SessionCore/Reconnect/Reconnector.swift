public import MachineCore

/// Decides whether and when to connect again, to which endpoint, and with which credentials.
///
/// Only this machine decides about reconnects. Each connection has a generation, and events of other than the present ones are ignored: two
/// errors of one connection never start two reconnects. At most one connection or attempt exists at any time, and two only during a
/// hand-over.
///
/// | Guarantee | Rule |
/// |---|---|
/// | no busy loop | two attempts never begin within ``ReconnectPolicy/spacing`` |
/// | no endless wait | no wait is longer than ``ReconnectPolicy/longestWait`` |
/// | the server is respected | no attempt at an endpoint before its `Retry-After` is over, at most ``ReconnectPolicy/longestRetryAfter`` |
/// | a flapping link keeps its backoff | only a stable connection, a returned network, a fresh release or `disconnect` resets the count |
/// | the app decides | after `disconnect`, nothing is tried until `start` |
package struct Reconnector: Machine, Hashable {
    /// One connection attempt, and the connection that results from it.
    package struct Attempt: Hashable, Sendable {
        /// The number of failures in a row before it, plus one.
        package let number: Int
        /// The id of the attempt in all later events; greater than that of every earlier attempt.
        package let generation: UInt64
        /// The endpoint to connect to, counted from 0.
        package let endpoint: Int
        /// Whether the present credentials were refused, so that new ones are needed.
        package let refreshesCredentials: Bool

        /// Creates an attempt as a `Reconnector` does; for tests of code that carries it out.
        package init(number: Int, generation: UInt64, endpoint: Int = 0, refreshesCredentials: Bool = false) {
            (self.number, self.generation) = (number, generation)
            (self.endpoint, self.refreshesCredentials) = (endpoint, refreshesCredentials)
        }
    }
    /// What the session is doing.
    package enum Phase: Hashable, Sendable {
        /// Not started, disconnected by the app, or lost while the policy does not reconnect.
        ///
        /// → `connecting`, `waiting` or `held` on `start` and `retryNow`, → `stopped` on `stop`.
        case idle
        /// An attempt is in progress.
        ///
        /// → `connected` on `opened`, → `waiting`, `connecting`, `idle` or `stopped` on `lost`, → `held` on `hold`, → `stopped` on `stop`.
        ///
        /// From here and from every later phase except the last: → `idle` on `disconnect`.
        case connecting(Attempt)
        /// A connection is open.
        ///
        /// → `handingOver` on `handOver`, → `waiting`, `connecting`, `held`, `idle` or `stopped` on `lost`,
        /// → `held` on `hold` unless it keeps open connections, → `stopped` on `stop`.
        case connected(Attempt, since: Moment)
        /// The old connection serves while the new one is being opened.
        ///
        /// → `connected` with the new one on its `opened`, with the old one on the new one's `lost` or a `hold` that keeps it,
        /// → `connecting` on the old one's `lost`, → `held` on any other `hold`, → `stopped` on `stop`.
        case handingOver(Attempt, since: Moment, to: Attempt)
        /// Waits for the next attempt.
        ///
        /// → `connecting` at `until`, or earlier on `networkReturned` and `retryNow`, → `held` on `hold`, → `stopped` on `stop`.
        case waiting(until: Moment, attempt: Int)
        /// In the background, or without a network: there is no connection, and none is attempted.
        ///
        /// → `connecting` or `waiting` on `release`, → `stopped` on `stop`.
        case held
        /// The session is over.
        case stopped(StopReason)
    }
    /// Why there are no more attempts.
    package enum StopReason: Hashable, Sendable {
        /// The app stopped the session.
        case asked
        /// Connecting again cannot help.
        case refused(Loss)
        /// The policy allows no more failures.
        case exhausted(Loss)
    }
    /// A session event that affects reconnecting.
    package enum Input: Hashable, Sendable {
        /// The app wants a connection: the first one, or one after `disconnect`. Ignored unless `idle`.
        case start
        /// The app wants no connection until `start`. Gives up the open connection or attempt. Neither the end nor a failure.
        case disconnect
        /// The app wants the next attempt now: ends a wait early, and starts if `idle`.
        ///
        /// Spacing and `Retry-After` still delay the attempt. The failure count and a hold stay in force.
        case retryNow
        /// The connection of this generation is open.
        case opened(generation: UInt64)
        /// The connection of this generation is gone, or its attempt has failed.
        case lost(generation: UInt64, Loss)
        /// A protocol runs over the connections from now on, or no longer does: see ``ReconnectPolicy/stableAfter``.
        case awaitReadiness(Bool)
        /// The protocol reports that the connection of this generation serves it: the connection counts as stable.
        ///
        /// Also sent for the connection that was lost last, because the loss may be known before its last messages are read.
        case ready(generation: UInt64)
        /// The protocol rejects the connection of this generation: its loss counts as a failure, even if it was ready or lasted long.
        ///
        /// May come late, like ``ready(generation:)``.
        case rejected(generation: UInt64)
        /// The device has a network again, so earlier failures are forgiven. Only spacing and `Retry-After` still delay the next attempt.
        case networkReturned
        /// Try nothing until `release`. An open connection stays until it is lost if `keepingOpen`; otherwise it is given up at once.
        case hold(keepingOpen: Bool)
        /// Try again. A fresh release forgives all failures and waits only for spacing and `Retry-After`; any other also waits for the backoff.
        case release(fresh: Bool)
        /// Replace the connection, because its credentials expire or a better network is available. The new one opens before the old one closes.
        ///
        /// If the new one fails, the old one stays, and the hand-over can be requested again. Without a connection, this has no effect.
        case handOver
        /// The app ends the session.
        case stop
    }
    /// An order to the owner, or a result.
    package enum Effect: Hashable, Sendable {
        /// Open a connection. Pass the generation with all later events of it.
        case connect(Attempt)
        /// Close the connection of this generation, or cancel its attempt. Later events of it are ignored.
        case disconnect(generation: UInt64)
        /// A newer connection has taken over: send the remaining messages on this one, then close it.
        case retire(generation: UInt64)
        /// The phase has changed to this one.
        case report(Phase)
    }

    /// What the session is doing.
    package internal(set) var phase = Phase.idle
    /// The generation of the newest attempt; 0 before the first.
    package internal(set) var generation: UInt64 = 0
    /// Whether attempts are held: even if an open connection is lost, no new one is tried before `release`.
    package internal(set) var isHeld = false
    let policy: ReconnectPolicy
    let endpoints: Int
    let hasCredentials: Bool
    var random: SplitMix64

    /// The number of failures in a row.
    var failures = 0
    /// The number of losses in a row, which determines the next wait: the failures, plus the loss of a stable connection before them.
    var setbacks = 0
    /// The next endpoint.
    var endpoint = 0
    /// When the backoff is over.
    var due = Moment.start
    /// When the spacing after the newest attempt is over.
    var spaced = Moment.start
    /// Until when each endpoint asked the client to wait.
    var barred: [Int: Moment] = [:]
    var needsRefresh = false
    /// Whether a connection counts as stable when its protocol is ready, and not after a time.
    var awaitsReadiness = false
    /// The last connection that a protocol reported as ready or rejected.
    var verdict: Verdict?
    /// The last lost connection, with the counts before that loss; nil if no protocol judges connections.
    var lastLoss: CountedLoss?
    /// Whether a hand-over was requested before the spacing of the newest attempt was over.
    var wantsHandOver = false

    /// Creates a reconnector that has not started.
    ///
    /// - Parameters:
    ///   - policy: When to try again, and when to give up.
    ///   - endpoints: The number of endpoints, at least 1. The first is tried first, the next one after each failure.
    ///   - hasCredentials: Whether new credentials can be requested when the present ones are refused.
    ///   - seed: The seed of the jitter. Use another one for each client, or all clients come back at the same time.
    package init(policy: ReconnectPolicy = ReconnectPolicy(), endpoints: Int = 1, hasCredentials: Bool = false, seed: UInt64) {
        (self.policy, self.endpoints, self.hasCredentials) = (policy, max(endpoints, 1), hasCredentials)
        random = SplitMix64(seed: seed)
    }

    /// Applies one input and appends the resulting effects in order.
    package mutating func handle(_ input: Input, at now: Moment, into effects: inout [Effect]) {
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

    /// The moment at which the wait, or the delay of a hand-over, is over; nil if there is none.
    package var deadline: Moment? {
        switch phase {
        case .waiting(let until, _): until
        case .connected where wantsHandOver: earliest(endpoint)
        case .idle, .connecting, .connected, .handingOver, .held, .stopped: nil
        }
    }

    /// Connects if the wait is over.
    ///
    /// Early and repeated calls are harmless.
    package mutating func wake(at now: Moment, into effects: inout [Effect]) {
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

    /// Starts the next attempt and returns it.
    mutating func begin(at now: Moment, into effects: inout [Effect]) -> Attempt {
        generation &+= 1
        spaced = now + policy.spacing
        barred[endpoint] = nil
        let attempt = Attempt(number: failures + 1, generation: generation, endpoint: endpoint, refreshesCredentials: needsRefresh)
        effects.append(.connect(attempt))
        return attempt
    }

    /// Returns when an attempt at this endpoint may begin, regardless of the backoff.
    func earliest(_ endpoint: Int) -> Moment { max(spaced, barred[endpoint] ?? .start) }

    /// Moves to the next endpoint in turn; prefers endpoints that allow an attempt sooner.
    mutating func rotate() {
        let turn = (1...endpoints).map { (endpoint + $0) % endpoints }
        endpoint = turn.min { max(due, earliest($0)) < max(due, earliest($1)) } ?? 0
    }

    /// Records what a loss means for later attempts.
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

/// How a protocol judges its connections: a connection is stable once the protocol is ready, not because it stays open.
extension Reconnector {
    struct Verdict: Hashable {
        let generation: UInt64
        let isReady: Bool
    }
    struct CountedLoss: Hashable {
        let generation: UInt64
        let failures, setbacks: Int
        var wasStable: Bool
        /// Whether it lasted for ``ReconnectPolicy/stableAfter``.
        let hasLasted: Bool
    }

    mutating func judge(_ generation: UInt64, isReady: Bool, at now: Moment, into effects: inout [Effect]) {
        // A rejected connection cannot become ready any more.
        if let verdict, verdict.generation > generation || verdict.generation == generation && !verdict.isReady { return }
        verdict = Verdict(generation: generation, isReady: isReady)
        guard let lastLoss, lastLoss.generation == generation, lastLoss.wasStable != isReady else { return }
        self.lastLoss?.wasStable = isReady
        // If it lasted long, the count starts anew, as if the rejection had come in time.
        if !isReady, lastLoss.hasLasted { (failures, setbacks) = (1, 1) } else { count(lastLoss, wasStable: isReady) }
        guard case .waiting = phase else { return }
        let end = now + spread(policy.backoff.delay(attempt: setbacks, using: &random), at: now)
        due = isReady ? min(due, end) : max(due, end)
        proceed(at: now, into: &effects)
    }

    /// Returns whether a connection was good enough to reset the count when it is lost.
    ///
    /// A flapping link keeps its backoff.
    func isStable(_ attempt: Attempt, since: Moment, at now: Moment) -> Bool {
        if let verdict, verdict.generation == attempt.generation { return verdict.isReady }
        return !awaitsReadiness && now - since >= policy.stableAfter
    }

    /// Returns whether the protocol rejected the connection.
    func isRejected(_ attempt: Attempt) -> Bool { verdict == Verdict(generation: attempt.generation, isReady: false) }

    /// Counts the loss of a connection.
    ///
    /// The count may be corrected when the protocol's verdict arrives.
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

/// When a `Reconnector` connects again, how soon, and when it gives up.
public struct ReconnectPolicy: Hashable, Sendable {
    /// Whether a loss is followed by another attempt; true by default.
    ///
    /// If false, the session is disconnected after any loss that is worth another attempt, and the app decides when to connect again. A
    /// loss that ``losses`` calls final ends the session in any case.
    public var isAutomatic: Bool
    /// The waits between attempts.
    public var backoff: Backoff
    /// The maximum number of failures in a row; unlimited by default.
    ///
    /// With 0, the first loss ends the session.
    ///
    /// A failed attempt counts, and so does the loss of a connection that was not stable, see ``stableAfter``.
    public var maximumAttempts: Int
    /// How long a connection must last before its loss resets the failure count; 10 s by default.
    ///
    /// A link that flaps faster keeps its backoff. If a protocol runs over the socket, such as rooms, WAMP or your own, this time does not
    /// apply: a connection is stable once the protocol is ready, unless the protocol rejects it.
    public var stableAfter: Duration
    /// The minimum time from the start of one attempt to the start of the next; 1 s by default.
    ///
    /// It applies to every cause of flapping: the link, the network, or an app that moves between background and foreground. If the backoff
    /// would end before the spacing, it starts after the spacing, so that clients that were refused together do not come back together.
    public var spacing: Duration
    /// Which losses are worth another attempt.
    public var losses: LossTable
    /// The longest `Retry-After` that the client obeys; 5 minutes by default.
    public var longestRetryAfter: Duration

    /// Creates a policy; by default it never gives up.
    public init(
        backoff: Backoff = Backoff(), maximumAttempts: Int = .max, stableAfter: Duration = .seconds(10), spacing: Duration = .seconds(1),
        losses: LossTable = .standard, longestRetryAfter: Duration = .seconds(300), isAutomatic: Bool = true
    ) {
        (self.backoff, self.maximumAttempts, self.stableAfter) = (backoff, maximumAttempts, stableAfter)
        (self.spacing, self.losses, self.longestRetryAfter) = (spacing, losses, longestRetryAfter)
        self.isAutomatic = isAutomatic
    }

    /// The longest possible wait in any situation.
    public var longestWait: Duration { max(.zero, backoff.cap, longestRetryAfter, spacing) }
}
