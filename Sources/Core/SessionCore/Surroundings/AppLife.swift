public import MachineCore

/// Decides what the app's coming and going means for its connection.
///
/// The connection is held back by ``Effect/hold`` or ``Effect/abandon`` and let go again by exactly one ``Effect/release``.
/// Coming back to a connection that was kept asks it at once whether it still lives, for nothing told of its death meanwhile.
public struct AppLife: Machine, Hashable {
    /// Where the app is.
    public enum Phase: Hashable, Sendable {
        /// In the foreground. → `kept`, `leaving` or `held` on `background`, by policy; → `suspended` on `suspended`.
        case active
        /// In the background, connected as ever. → `active` on `foreground`, → `suspended` on `suspended`.
        case kept
        /// In the background, in its grace. → `held` at `until`, → `active` on `foreground`, → `suspended` on `suspended`.
        case leaving(until: Moment)
        /// In the background, without a connection. → `active` on `foreground`, → `suspended` on `suspended`.
        case held
        /// Not running. → `active` on `foreground`, → `kept` or `held` on `background`, by policy.
        case suspended
    }
    /// What can happen to the app that matters to its connection.
    public enum Input: Hashable, Sendable {
        /// People see the app again.
        case foreground
        /// People do not see the app any more, or it was woken without being seen.
        case background
        /// The system is about to stop running the app: there is time for a step, and none for a handshake.
        case suspended
    }
    /// What to do.
    public enum Effect: Hashable, Sendable {
        /// Close with 1001, and try nothing until `release`.
        case hold
        /// Drop the connection at once, even one that is closing, and try nothing until `release`.
        case abandon
        /// Connect at once if there is no connection.
        case release
        /// Ask the connection at once whether it lives.
        case probe
    }

    /// Where the app is; a session starts in the foreground until told otherwise.
    public internal(set) var phase = Phase.active
    let policy: BackgroundPolicy

    /// The life of an app in the foreground; by default its connection ends after 3 s in the background.
    public init(policy: BackgroundPolicy = .close(after: .seconds(3))) { self.policy = policy }

    /// Applies one input and appends what must be done about it, in order.
    public mutating func handle(_ input: Input, at now: Moment, into effects: inout [Effect]) {
        switch (phase, input) {
        case (.active, .background):
            leave(at: now, into: &effects)
        case (.kept, .foreground), (.leaving, .foreground):
            effects.append(.probe)
            phase = .active
        case (.held, .foreground), (.suspended, .foreground):
            effects.append(.release)
            phase = .active
        case (.active, .suspended), (.kept, .suspended), (.leaving, .suspended), (.held, .suspended):
            effects.append(.abandon)
            phase = .suspended
        case (.suspended, .background):
            wakeUnseen(into: &effects)
        case (.active, .foreground), (.kept, .background), (.leaving, .background), (.held, .background), (.suspended, .suspended): break
        }
    }

    /// When the grace in the background is over; nil elsewhere.
    public var deadline: Moment? { if case .leaving(let until) = phase { until } else { nil } }

    /// Ends the connection if the grace is over; calling early or twice is harmless.
    public mutating func wake(at now: Moment, into effects: inout [Effect]) {
        guard let deadline, now >= deadline else { return }
        hold(into: &effects)
    }

    private mutating func leave(at now: Moment, into effects: inout [Effect]) {
        switch policy {
        case .keep: phase = .kept
        case .close(let grace) where grace > .zero: phase = .leaving(until: now + grace)
        case .close: hold(into: &effects)
        }
    }

    private mutating func hold(into effects: inout [Effect]) {
        effects.append(.hold)
        phase = .held
    }

    /// The system runs the app in the background again, for a task or a push.
    private mutating func wakeUnseen(into effects: inout [Effect]) {
        switch policy {
        case .keep:
            effects.append(.release)
            phase = .kept
        case .close: phase = .held  // All is dropped already.
        }
    }
}
