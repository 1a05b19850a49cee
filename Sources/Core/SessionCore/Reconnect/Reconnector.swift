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
}
