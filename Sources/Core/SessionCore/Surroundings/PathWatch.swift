public import MachineCore

/// Decides what news of the network means for a connection and for the attempts at one.
///
/// No news of the network is the death of a connection: TCP outlives a short loss, and one to this device needs no network.
/// So whenever there is reason to doubt it, the connection is asked at once, and its own silence judges it.
public struct PathWatch: Machine, Hashable {
    /// What is known of the network.
    public enum Phase: Hashable, Sendable {
        /// Nothing yet. → `online` on `satisfied`, → `offline` on `unsatisfied`.
        case unknown
        /// New connections take this path. → `online` on `satisfied` with another, → `offline` on `unsatisfied`.
        case online(NetworkPath)
        /// New connections have no path. → `online` on `satisfied`.
        case offline
    }
    /// What can happen to the network that matters to a connection.
    public enum Input: Hashable, Sendable {
        /// New connections take this path from now on.
        case satisfied(NetworkPath)
        /// New connections have no path.
        case unsatisfied
        /// The path that the present connection was made over is lost.
        case notViable
        /// A new connection would take a better path than the present one has.
        case betterPathAvailable
    }
    /// What to do.
    public enum Effect: Hashable, Sendable {
        /// Start no attempt until `release`, and give up one that is under way; a connection that is open stays.
        case hold
        /// The network is back: connect at once if there is no connection, as if nothing had failed before.
        ///
        /// It comes whether or not attempts were held.
        case release
        /// Ask the connection at once whether it lives.
        case probe
        /// Make a new connection, then drop the old one.
        case handOver
    }

    /// What is known of the network.
    public internal(set) var phase = Phase.unknown
    let policy: PathPolicy

    /// A watch that has heard nothing of the network; until it does, attempts are free.
    public init(policy: PathPolicy = PathPolicy()) { self.policy = policy }

    /// Nil always: only news changes anything.
    public var deadline: Moment? { nil }

    /// Applies one input and appends what must be done about it, in order.
    public mutating func handle(_ input: Input, at now: Moment, into effects: inout [Effect]) {
        switch (phase, input) {
        case (.unknown, .satisfied(let path)):
            phase = .online(path)
        case (.online(let old), .satisfied(let path)) where old != path:
            effects.append(.probe)
            phase = .online(path)
        case (.offline, .satisfied(let path)):
            // What outlived the loss may have been made over another path.
            effects += [.release, .probe]
            phase = .online(path)
        case (.unknown, .unsatisfied), (.online, .unsatisfied):
            effects += policy.holdsWhenUnsatisfied ? [.hold, .probe] : [.probe]
            phase = .offline
        case (.unknown, .notViable), (.online, .notViable), (.offline, .notViable):
            effects.append(.probe)
        case (.unknown, .betterPathAvailable), (.online, .betterPathAvailable):
            if policy.handsOver { effects.append(.handOver) }
        case (.online, .satisfied), (.offline, .unsatisfied), (.offline, .betterPathAvailable): break
        }
    }

    /// Nothing comes with time alone.
    public mutating func wake(at now: Moment, into effects: inout [Effect]) {}
}
