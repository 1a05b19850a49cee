public import MachineCore

/// Decides whether and when to connect again.
///
/// At most one connection or attempt exists at any time. Each has a generation, and news of any but the newest is ignored:
/// two errors of one connection never start two reconnects.
public struct Reconnector: Machine, Hashable {
    /// What the session is doing.
    public enum Phase: Hashable, Sendable {
        /// → `connecting` on `start`, → `stopped` on `stop`.
        case idle
        /// → `connected` on `opened`, → `waiting` or `stopped` on `lost`, → `stopped` on `stop`.
        case connecting(attempt: Int)
        /// → `waiting` or `stopped` on `lost`, → `stopped` on `stop`.
        case connected(since: Moment, attempt: Int)
        /// → `connecting` at `until` or on `networkReturned`, → `stopped` on `stop`.
        case waiting(until: Moment, attempt: Int)
        /// Over for good.
        case stopped(StopReason)
    }
    /// Why there will be no more attempts.
    public enum StopReason: Hashable, Sendable {
        /// The app asked for it.
        case asked
        /// Connecting again cannot help.
        case refused(Loss)
        /// The policy's last attempt failed like this.
        case exhausted(Loss)
    }
    /// What can happen to a session that matters to its connecting.
    public enum Input: Hashable, Sendable {
        /// The app wants the session.
        case start
        /// The connection of this generation is open.
        case opened(generation: UInt64)
        /// The connection of this generation, or the attempt at it, is gone.
        case lost(generation: UInt64, Loss)
        /// The device has a network again: what failed before may work now.
        case networkReturned
        /// The app wants no more.
        case stop
    }
    /// What to do, and what became known.
    public enum Effect: Hashable, Sendable {
        /// Open a connection; tell the generation with everything that becomes of it.
        case connect(attempt: Int, generation: UInt64)
        /// Close the connection, or give up the attempt at one.
        case disconnect
        /// The phase is now this one.
        case report(Phase)
    }

    /// What the session is doing.
    public internal(set) var phase = Phase.idle
    /// Which connection is the newest; 0 before the first.
    public internal(set) var generation: UInt64 = 0
    let policy: ReconnectPolicy
    var random: SplitMix64

    /// A session that has not started.
    ///
    /// - Parameters:
    ///   - policy: When to try again, and when to give up.
    ///   - seed: Where the jitter starts; give each client another, or they all come back at once.
    public init(policy: ReconnectPolicy = ReconnectPolicy(), seed: UInt64) {
        (self.policy, self.random) = (policy, SplitMix64(seed: seed))
    }

    /// Applies one input and appends what must be done about it, in order.
    public mutating func handle(_ input: Input, at now: Moment, into effects: inout [Effect]) {
        switch (phase, input) {
        case (.idle, .start):
            connect(attempt: 1, into: &effects)
        case (.connecting(let attempt), .opened(generation)):
            enter(.connected(since: now, attempt: attempt), into: &effects)
        case (.connecting(let attempt), .lost(generation, let loss)):
            retry(after: attempt, loss, at: now, into: &effects)
        case (.connected(let since, let attempt), .lost(generation, let loss)):
            let isStable = now - since >= policy.stableAfter  // A flapping link keeps its backoff.
            retry(after: isStable ? 0 : attempt, loss, at: now, into: &effects)
        case (.waiting, .networkReturned):
            connect(attempt: 1, into: &effects)  // What failed before was the network's doing.
        case (.idle, .stop), (.waiting, .stop):
            enter(.stopped(.asked), into: &effects)
        case (.connecting, .stop), (.connected, .stop):
            effects.append(.disconnect)
            enter(.stopped(.asked), into: &effects)
        case (.idle, _), (.connecting, _), (.connected, _), (.waiting, _), (.stopped, _): break
        }
    }
}
