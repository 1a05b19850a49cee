public import MachineCore

/// When a ``Reconnector`` connects again, how soon, and when it gives up.
public struct ReconnectPolicy: Hashable, Sendable {
    /// Whether a loss is followed by another attempt; by default it is.
    ///
    /// If not, the session is disconnected after any loss that is worth another attempt, and the app decides when to connect again. A loss
    /// that ``losses`` calls final is the end in any case.
    public var isAutomatic: Bool
    /// The waits between attempts.
    public var backoff: Backoff
    /// The most failures in a row; by default unlimited, and 0 for none: the first loss is the end.
    ///
    /// An attempt that fails counts, and so does a connection that was not stable, see ``stableAfter``.
    public var maximumAttempts: Int
    /// How long a connection must last before its loss starts the count afresh; by default 10 s.
    ///
    /// A link that flaps faster keeps its backoff. Where a protocol runs over the socket, such as rooms, WAMP or one of your own, its word counts
    /// instead: a connection is stable once the protocol is ready, and not if the protocol gives it up.
    public var stableAfter: Duration
    /// The least time from the start of one attempt to the start of the next; by default 1 s.
    ///
    /// It holds whatever flaps: the link, the network, or the app between background and foreground. A backoff that would be over
    /// sooner begins when it ends, so that clients which are turned away together do not come back together.
    public var spacing: Duration
    /// Which losses are worth another attempt.
    public var losses: LossTable
    /// The most that a server's `Retry-After` is obeyed; by default 5 minutes.
    public var longestRetryAfter: Duration

    /// A policy; by default it never gives up.
    public init(
        backoff: Backoff = Backoff(), maximumAttempts: Int = .max, stableAfter: Duration = .seconds(10), spacing: Duration = .seconds(1),
        losses: LossTable = .standard, longestRetryAfter: Duration = .seconds(300), isAutomatic: Bool = true
    ) {
        (self.backoff, self.maximumAttempts, self.stableAfter) = (backoff, maximumAttempts, stableAfter)
        (self.spacing, self.losses, self.longestRetryAfter) = (spacing, losses, longestRetryAfter)
        self.isAutomatic = isAutomatic
    }

    /// The most that any wait can be, whatever happens.
    public var longestWait: Duration { max(.zero, backoff.cap, longestRetryAfter, spacing) }
}
