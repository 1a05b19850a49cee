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

/// Decides what the news of an app's life mean to its sockets, and when to ask the system for time in the background.
///
/// Time is asked for at most once per absence, and given back exactly once: after `extraTime`, on return, or when the system wants it back.
public struct AppPresence: Machine, Hashable {
    /// Where the app is.
    public enum Phase: Hashable, Sendable {
        /// People see it. → `borrowing` or `away` on `left`, → `away` on `ending`.
        case present
        /// In the background, on borrowed time. → `away` at `until`, on `expired` and on `ending`, → `present` on `returned`.
        case borrowing(until: Moment)
        /// In the background, or about to stop. → `present` on `returned`.
        case away
    }
    /// What the system says.
    public enum Input: Hashable, Sendable {
        /// People do not see the app any more.
        case left
        /// People see the app again, or the machine woke up.
        case returned
        /// The borrowed time is over now.
        case expired
        /// The app is about to end, or the machine to sleep.
        case ending
    }
    /// What to do.
    public enum Effect: Hashable, Sendable {
        /// Tell the sockets.
        case tell(AppLife.Input)
        /// Ask the system for time.
        case borrow
        /// Give the time back.
        case giveBack
    }

    /// Where the app is; it starts in the foreground until told otherwise.
    public private(set) var phase = Phase.present
    let extraTime: Duration?

    /// The life of an app in the foreground.
    ///
    /// - Parameter extraTime: For how long time is borrowed when the app leaves, enough for its sockets to close; nil: none is.
    public init(extraTime: Duration? = .seconds(20)) { self.extraTime = extraTime }

    /// Applies one input and appends what must be done about it, in order.
    public mutating func handle(_ input: Input, at now: Moment, into effects: inout [Effect]) {
        switch (phase, input) {
        case (.present, .left):
            // First, so that there is time for what is told.
            if extraTime != nil { effects.append(.borrow) }
            effects.append(.tell(.background))
            phase = extraTime.map { .borrowing(until: now + $0) } ?? .away
        case (.borrowing, .returned):
            effects += [.giveBack, .tell(.foreground)]
            phase = .present
        case (.away, .returned):
            effects.append(.tell(.foreground))
            phase = .present
        case (.borrowing, .expired), (.borrowing, .ending):
            effects += [.tell(.suspended), .giveBack]
            phase = .away
        case (.present, .ending), (.away, .ending):
            effects.append(.tell(.suspended))
            phase = .away
        case (.present, .returned), (.present, .expired), (.borrowing, .left), (.away, .left), (.away, .expired): break
        }
    }

    /// When borrowed time is given back; nil if none is.
    public var deadline: Moment? { if case .borrowing(let until) = phase { until } else { nil } }

    /// Gives the time back if it is due; calling early or twice is harmless.
    public mutating func wake(at now: Moment, into effects: inout [Effect]) {
        guard let deadline, now >= deadline else { return }
        effects.append(.giveBack)
        phase = .away
    }
}

/// What a session does about its connection while the app is in the background.
public enum BackgroundPolicy: Hashable, Sendable {
    /// It goes on as in the foreground, for as long as the system lets the app run.
    case keep
    /// It ends when the app has been in the background for this long, and comes back with the foreground; zero: at once.
    ///
    /// iOS suspends an app about 5 s after it left the foreground, unless it asked for more time: leave some for the close handshake.
    case close(after: Duration)
}
