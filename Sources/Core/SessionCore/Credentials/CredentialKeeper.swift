public import MachineCore

/// Decides when the app's provider is asked for a credential, and what becomes of its answer.
///
/// Every attempt to connect waits for a credential that was fetched for it: ``Input/needed`` is answered by ``Effect/ready`` or
/// ``Effect/unavailable(isRetryable:)``, one answer for all that asked before it. One fetch runs at a time, each has a number,
/// and news of any but the newest is ignored. While connected, the next credential is fetched ahead of the expiry of the last.
///
/// The credential itself never comes here, only that there is one and how long it lives: whoever carries out the fetches keeps the
/// newest. No failure of a fetch ahead is told, for the connection lives: the next attempt asks again, and hears of it.
public struct CredentialKeeper: Machine, Hashable {
    /// Whether the provider is at work.
    public enum Phase: Hashable, Sendable {
        /// → `fetching` on `needed`, and while connected when a refresh is due; → `ended` on `ended`.
        case resting
        /// `isNeeded`: an attempt waits for it. → `resting` on `provided`, `failed` and at `until`, → `ended` on `ended`.
        case fetching(until: Moment, isNeeded: Bool)
        /// Over for good.
        case ended
    }
    /// What can happen to a session that matters to its credential.
    public enum Input: Hashable, Sendable {
        /// An attempt to connect is about to start, and waits for `ready` or `unavailable`.
        case needed
        /// The provider gave a credential that lives for so long from now; nil: it does not expire.
        ///
        /// One that has expired already, by the provider's word, still serves an attempt that needs it: clocks differ, and the server judges.
        case provided(fetch: UInt64, expiresIn: Duration?)
        /// The provider failed, and says whether asking it again can help.
        case failed(fetch: UInt64, isRetryable: Bool)
        /// A connection is open.
        case connected
        /// No connection is left; not told when one takes over from another.
        case disconnected
        /// The session is over.
        case ended
    }
    /// What to do, and what became known.
    public enum Effect: Hashable, Sendable {
        /// Ask the provider; tell the number with what becomes of it, and keep the credential in place of the last.
        case fetch(UInt64)
        /// Cancel the fetch that runs: nobody waits for it any more.
        case cancelFetch
        /// Connect with the newest credential.
        case ready
        /// There is no credential for the attempt: the provider failed by its own word, or said nothing for too long (retryable).
        case unavailable(isRetryable: Bool)
        /// A fresh credential came while connected with the old one: make a new connection, then drop the old.
        ///
        /// The attempt at it says `needed` as every other, and is `ready` at once.
        case handOver
    }

    /// The least time between two fetches that no attempt waits for, and by how much a refresh must win over the last credential.
    public static let pause = Duration.seconds(10)

    /// Whether the provider is at work.
    public internal(set) var phase = Phase.resting
    /// Which fetch is the newest; 0 before the first.
    public internal(set) var lastFetch: UInt64 = 0
    let policy: CredentialPolicy
    var isConnected = false
    /// Whether the newest credential was fetched ahead, for a new connection that has not asked for it yet.
    var isSpare = false
    /// When the newest credential expires; nil: never, or there is none.
    var expiry: Moment?
    /// When to fetch the next one, if connected by then.
    var refreshAt: Moment?

    /// A keeper of a session that has no credential yet.
    public init(policy: CredentialPolicy = CredentialPolicy()) { self.policy = policy }

    /// Applies one input and appends what must be done about it, in order.
    public mutating func handle(_ input: Input, at now: Moment, into effects: inout [Effect]) {
        switch (phase, input) {
        case (.resting, .needed) where isSpare && now < expiry ?? .distantFuture:
            isSpare = false
            effects.append(.ready)
        case (.resting, .needed):
            fetch(isNeeded: true, at: now, into: &effects)
        case (.fetching(let until, _), .needed):
            phase = .fetching(until: until, isNeeded: true)
        case (.fetching(_, let isNeeded), .provided(lastFetch, let life)):
            phase = .resting
            take(life: life, isNeeded: isNeeded, at: now, into: &effects)
        case (.fetching(_, let isNeeded), .failed(lastFetch, let isRetryable)):
            fail(isRetryable: isRetryable, isNeeded: isNeeded, at: now, into: &effects)
        case (.resting, .connected), (.fetching, .connected):
            isConnected = true
        case (.resting, .disconnected), (.fetching, .disconnected):
            (isConnected, isSpare) = (false, false)
        case (.resting, .ended):
            phase = .ended
        case (.fetching, .ended):
            effects.append(.cancelFetch)
            phase = .ended
        case (.resting, _), (.fetching, _), (.ended, _): break
        }
    }

    /// When the provider has had its time, or the next refresh is due; nil if neither can be.
    public var deadline: Moment? {
        switch phase {
        case .resting: isConnected ? refreshAt : nil
        case .fetching(let until, _): until
        case .ended: nil
        }
    }

    /// Gives up a fetch that takes too long, or starts one ahead of the expiry; calling early or twice is harmless.
    public mutating func wake(at now: Moment, into effects: inout [Effect]) {
        guard let deadline, now >= deadline else { return }
        guard case .fetching(_, let isNeeded) = phase else { return fetch(isNeeded: false, at: now, into: &effects) }
        effects.append(.cancelFetch)
        fail(isRetryable: true, isNeeded: isNeeded, at: now, into: &effects)
    }

    mutating func fetch(isNeeded: Bool, at now: Moment, into effects: inout [Effect]) {
        lastFetch &+= 1
        phase = .fetching(until: now + policy.timeout, isNeeded: isNeeded)
        effects.append(.fetch(lastFetch))
    }

    mutating func take(life: Duration?, isNeeded: Bool, at now: Moment, into effects: inout [Effect]) {
        if isNeeded {
            keep(life, at: now)
            isSpare = false
            effects.append(.ready)
        } else if isConnected {
            guard isWorthwhile(life, at: now) else { return refreshLater(at: now) }
            keep(life, at: now)
            isSpare = true
            effects.append(.handOver)
        }
        // Else the connection was lost meanwhile: the attempt at the next one asks for its own.
    }

    mutating func fail(isRetryable: Bool, isNeeded: Bool, at now: Moment, into effects: inout [Effect]) {
        phase = .resting
        if isRetryable { refreshLater(at: now) } else { refreshAt = nil }
        if isNeeded { effects.append(.unavailable(isRetryable: isRetryable)) }
    }

    private mutating func keep(_ life: Duration?, at now: Moment) {
        expiry = life.map { now + $0 }
        // A life too short to hand over in is lived to its end: no refresh comes sooner than the pause allows.
        refreshAt = life.flatMap { life in
            let untilRefresh = life - min(policy.refreshAhead, life / 10)
            return policy.refreshAhead > .zero && untilRefresh >= Self.pause ? now + untilRefresh : nil
        }
    }

    /// Tries again after half the time that is left, and no more once that is too short.
    private mutating func refreshLater(at now: Moment) {
        let wait = expiry.map { max(($0 - now) / 2, Self.pause) }
        refreshAt = wait.map { now + $0 }.flatMap { $0 < expiry ?? $0 ? $0 : nil }
    }

    /// A provider with a store of its own can give the old credential once more; no new connection is made for that.
    private func isWorthwhile(_ life: Duration?, at now: Moment) -> Bool {
        guard let life, let expiry else { return true }
        return life > .zero && now + life >= expiry + Self.pause
    }
}

/// When a ``CredentialKeeper`` asks for a fresh credential, and for how long it waits.
public struct CredentialPolicy: Hashable, Sendable {
    /// How long before a credential expires the next one is fetched; zero: only when an attempt needs it.
    ///
    /// At most a tenth of the credential's life, so that short-lived ones are not fetched over and over.
    public var refreshAhead: Duration
    /// How long the provider may take for one fetch.
    public var timeout: Duration

    /// A policy; by default it looks 30 s ahead and waits 30 s for the provider.
    public init(refreshAhead: Duration = .seconds(30), timeout: Duration = .seconds(30)) {
        (self.refreshAhead, self.timeout) = (refreshAhead, timeout)
    }
}
