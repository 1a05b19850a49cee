package import MachineCore

/// Decides when to ask the app's provider for a credential, and how to use the answer.
///
/// Every connection attempt waits for a credential that was fetched for it. ``Input/needed`` is answered by ``Effect/ready`` or
/// ``Effect/unavailable(isRetryable:)``; one answer covers all attempts that asked before it. Only one fetch runs at a time. Each fetch has
/// a number, and results of any but the newest are ignored. While connected, the next credential is fetched before the last one expires.
///
/// The machine never sees the credential itself, only that it exists and how long it is valid. The owner carries out the fetches and keeps
/// the newest credential. If a fetch ahead of expiry fails, nothing is reported, because the connection is still open. The next attempt
/// asks again and gets the error if that fetch fails too.
package struct CredentialKeeper: Machine, Hashable {
    /// Whether a fetch is running.
    package enum Phase: Hashable, Sendable {
        /// No fetch runs. → `fetching` on `needed`, and while connected when a refresh is due; → `ended` on `ended`.
        case resting
        /// A fetch runs; `isNeeded` says whether an attempt waits for it.
        ///
        /// → `resting` on `provided`, `failed` and at `until`, → `ended` on `ended`.
        case fetching(until: Moment, isNeeded: Bool)
        /// The session is over.
        case ended
    }
    /// A session event that affects the credential.
    package enum Input: Hashable, Sendable {
        /// A connection attempt is about to start, and waits for `ready` or `unavailable`.
        case needed
        /// The provider returned a credential that is valid for this long from now; nil if it does not expire.
        ///
        /// A credential that the provider reports as already expired is still used for an attempt that needs it. Clocks differ, and the
        /// server decides.
        case provided(fetch: UInt64, expiresIn: Duration?)
        /// The provider failed. `isRetryable` says whether asking again can help.
        case failed(fetch: UInt64, isRetryable: Bool)
        /// A connection is open.
        case connected
        /// No connection is left. Not sent when one connection takes over from another.
        case disconnected
        /// The session is over.
        case ended
    }
    /// An order to the owner, or a result.
    package enum Effect: Hashable, Sendable {
        /// Ask the provider. Pass this number with the result, and keep the new credential in place of the old one.
        case fetch(UInt64)
        /// Cancel the running fetch: its result is no longer needed.
        case cancelFetch
        /// Connect with the newest credential.
        case ready
        /// There is no credential for the attempt: the provider failed, or it did not answer in time (retryable).
        case unavailable(isRetryable: Bool)
        /// A fresh credential arrived while connected with the old one: open a new connection, then close the old one.
        ///
        /// The new attempt sends `needed` like every other and gets `ready` at once.
        case handOver
    }

    /// The minimum time between two fetches that no attempt waits for, and the minimum gain in validity for a refresh to be used.
    package static let pause = Duration.seconds(10)

    /// Whether a fetch is running.
    package internal(set) var phase = Phase.resting
    /// The number of the newest fetch; 0 before the first.
    package internal(set) var lastFetch: UInt64 = 0
    let policy: CredentialPolicy
    var isConnected = false
    /// Whether the newest credential was fetched ahead, for a new connection that has not yet asked for it.
    var isSpare = false
    /// When the newest credential expires; nil if it never does or there is none.
    var expiry: Moment?
    /// When to fetch the next credential, if connected then.
    var refreshAt: Moment?

    /// Creates a keeper for a session that has no credential yet.
    package init(policy: CredentialPolicy = CredentialPolicy()) { self.policy = policy }

    /// Applies one input and appends the resulting effects in order.
    package mutating func handle(_ input: Input, at now: Moment, into effects: inout [Effect]) {
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

    /// The moment at which the fetch times out or the next refresh is due; nil if neither applies.
    package var deadline: Moment? {
        switch phase {
        case .resting: isConnected ? refreshAt : nil
        case .fetching(let until, _): until
        case .ended: nil
        }
    }

    /// Ends a fetch that takes too long, or starts one ahead of expiry.
    ///
    /// Early and repeated calls are harmless.
    package mutating func wake(at now: Moment, into effects: inout [Effect]) {
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
        // Otherwise the connection was lost meanwhile, and the next attempt fetches its own credential.
    }

    mutating func fail(isRetryable: Bool, isNeeded: Bool, at now: Moment, into effects: inout [Effect]) {
        phase = .resting
        if isRetryable { refreshLater(at: now) } else { refreshAt = nil }
        if isNeeded { effects.append(.unavailable(isRetryable: isRetryable)) }
    }

    private mutating func keep(_ life: Duration?, at now: Moment) {
        expiry = life.map { now + $0 }
        // If the validity is too short for a hand-over, the credential is used until it expires: no refresh comes before the pause.
        refreshAt = life.flatMap { life in
            let untilRefresh = life - min(policy.refreshAhead, life / 10)
            return policy.refreshAhead > .zero && untilRefresh >= Self.pause ? now + untilRefresh : nil
        }
    }

    /// Tries again after half of the remaining time, and stops once that is too short.
    private mutating func refreshLater(at now: Moment) {
        let wait = expiry.map { max(($0 - now) / 2, Self.pause) }
        refreshAt = wait.map { now + $0 }.flatMap { $0 < expiry ?? $0 ? $0 : nil }
    }

    /// Returns whether the new credential is still valid, and for at least ``pause`` longer than the old one.
    ///
    /// A provider with a cache may return the old one again.
    private func isWorthwhile(_ life: Duration?, at now: Moment) -> Bool {
        guard let life, let expiry else { return true }
        return life > .zero && now + life >= expiry + Self.pause
    }
}

/// When a `CredentialKeeper` asks for a fresh credential, and how long it waits.
public struct CredentialPolicy: Hashable, Sendable {
    /// How long before expiry the next credential is fetched; zero to fetch only when an attempt needs one.
    ///
    /// At most a tenth of the credential's validity, so that short-lived credentials are not fetched too often.
    public var refreshAhead: Duration
    /// How long one fetch may take.
    public var timeout: Duration

    /// Creates a policy; by default it refreshes 30 s ahead and waits 30 s for the provider.
    public init(refreshAhead: Duration = .seconds(30), timeout: Duration = .seconds(30)) {
        (self.refreshAhead, self.timeout) = (refreshAhead, timeout)
    }
}
