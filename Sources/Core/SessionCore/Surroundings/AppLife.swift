public import MachineCore

/// Decides what happens to the connection when the app enters or leaves the background.
///
/// ``Effect/hold`` or ``Effect/abandon`` stops connecting, and exactly one ``Effect/release`` allows it again. If the connection was kept
/// in the background, it is probed on return, because its loss may have gone unnoticed.
public struct AppLife: Machine, Hashable {
    /// The state of the app.
    public enum Phase: Hashable, Sendable {
        /// In the foreground. → `kept`, `leaving` or `held` on `background`, by policy; → `suspended` on `suspended`.
        case active
        /// In the background, still connected. → `active` on `foreground`, → `suspended` on `suspended`.
        case kept
        /// In the background, in the grace period. → `held` at `until`, → `active` on `foreground`, → `suspended` on `suspended`.
        case leaving(until: Moment)
        /// In the background, without a connection. → `active` on `foreground`, → `suspended` on `suspended`.
        case held
        /// Not running. → `active` on `foreground`, → `kept` or `held` on `background`, by policy.
        case suspended
    }
    /// An event of the app that affects its connection.
    public enum Input: Hashable, Sendable {
        /// The app is visible again.
        case foreground
        /// The app is no longer visible, or it was started in the background.
        case background
        /// The system is about to suspend the app: there is time for one step, but not for a handshake.
        case suspended
    }
    /// The action to take.
    public enum Effect: Hashable, Sendable {
        /// Close with 1001, and try nothing until `release`.
        case hold
        /// Drop the connection at once, even if it is closing, and try nothing until `release`.
        case abandon
        /// Connect at once if there is no connection.
        case release
        /// Check at once whether the connection is alive.
        case probe
    }

    /// The state of the app; it starts in the foreground.
    public internal(set) var phase = Phase.active
    let policy: BackgroundPolicy

    /// Creates the state of an app in the foreground; by default its connection ends after 3 s in the background.
    public init(policy: BackgroundPolicy = .close(after: .seconds(3))) { self.policy = policy }

    /// Applies one input and appends the resulting effects in order.
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

    /// The end of the grace period in the background; nil in other phases.
    public var deadline: Moment? { if case .leaving(let until) = phase { until } else { nil } }

    /// Ends the connection if the grace period is over.
    ///
    /// Early and repeated calls are harmless.
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

    /// Handles a return from suspension to the background, for a task or a push.
    private mutating func wakeUnseen(into effects: inout [Effect]) {
        switch policy {
        case .keep:
            effects.append(.release)
            phase = .kept
        case .close: phase = .held  // All connections are already dropped.
        }
    }
}

/// Translates the life cycle of an app into inputs for its sockets, and decides when to request background time from the system.
///
/// Time is requested at most once per stay in the background. It is returned exactly once: after `extraTime`, on return to the foreground,
/// or when the system demands it.
public struct AppPresence: Machine, Hashable {
    /// The state of the app.
    public enum Phase: Hashable, Sendable {
        /// Visible. → `borrowing` or `away` on `left`, → `away` on `ending`.
        case present
        /// In the background, with background time. → `away` at `until`, on `expired` and on `ending`, → `present` on `returned`.
        case borrowing(until: Moment)
        /// In the background, or about to stop. → `present` on `returned`.
        case away
    }
    /// An event from the system.
    public enum Input: Hashable, Sendable {
        /// The app is no longer visible.
        case left
        /// The app is visible again, or the machine woke up.
        case returned
        /// The background time has expired.
        case expired
        /// The app is about to end, or the machine is about to sleep.
        case ending
    }
    /// The action to take.
    public enum Effect: Hashable, Sendable {
        /// Pass this input to the sockets.
        case notify(AppLife.Input)
        /// Request background time from the system.
        case borrow
        /// Return the background time.
        case giveBack
    }

    /// The state of the app; it starts in the foreground.
    public private(set) var phase = Phase.present
    let extraTime: Duration?

    /// Creates the state of an app in the foreground.
    ///
    /// - Parameter extraTime: How much background time to request when the app leaves, enough for its sockets to close; nil for none.
    public init(extraTime: Duration? = .seconds(20)) { self.extraTime = extraTime }

    /// Applies one input and appends the resulting effects in order.
    public mutating func handle(_ input: Input, at now: Moment, into effects: inout [Effect]) {
        switch (phase, input) {
        case (.present, .left):
            // First, so that there is time to act on the next effect.
            if extraTime != nil { effects.append(.borrow) }
            effects.append(.notify(.background))
            phase = extraTime.map { .borrowing(until: now + $0) } ?? .away
        case (.borrowing, .returned):
            effects += [.giveBack, .notify(.foreground)]
            phase = .present
        case (.away, .returned):
            effects.append(.notify(.foreground))
            phase = .present
        case (.borrowing, .expired), (.borrowing, .ending):
            effects += [.notify(.suspended), .giveBack]
            phase = .away
        case (.present, .ending), (.away, .ending):
            effects.append(.notify(.suspended))
            phase = .away
        case (.present, .returned), (.present, .expired), (.borrowing, .left), (.away, .left), (.away, .expired): break
        }
    }

    /// The moment at which background time is returned; nil if there is none.
    public var deadline: Moment? { if case .borrowing(let until) = phase { until } else { nil } }

    /// Returns the background time if that is due.
    ///
    /// Early and repeated calls are harmless.
    public mutating func wake(at now: Moment, into effects: inout [Effect]) {
        guard let deadline, now >= deadline else { return }
        effects.append(.giveBack)
        phase = .away
    }
}

/// What a session does with its connection while the app is in the background.
public enum BackgroundPolicy: Hashable, Sendable {
    /// The connection stays open for as long as the system lets the app run.
    case keep
    /// The connection ends after this time in the background, and is opened again in the foreground; zero to end it at once.
    ///
    /// iOS suspends an app about 5 s after it left the foreground, unless it asked for more time. Leave enough of that for the close
    /// handshake.
    case close(after: Duration)
}
