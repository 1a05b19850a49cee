/// When a ``Reconnector`` connects again, how soon, and when it gives up.
public struct ReconnectPolicy: Hashable, Sendable {
    /// The waits between attempts.
    public var backoff: Backoff
    /// The most attempts in a row without a stable connection between them; by default unlimited.
    public var maximumAttempts: Int
    /// How long a connection must last before its loss starts the count afresh.
    ///
    /// A link that flaps faster keeps its backoff.
    public var stableAfter: Duration

    /// A policy; by default it never gives up.
    public init(backoff: Backoff = Backoff(), maximumAttempts: Int = .max, stableAfter: Duration = .seconds(10)) {
        (self.backoff, self.maximumAttempts, self.stableAfter) = (backoff, maximumAttempts, stableAfter)
    }
}
