public import MachineCore

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
