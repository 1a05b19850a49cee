public import MachineCore

/// Detects a dead peer with the protocol's own messages.
///
/// It sends a ping only when the peer is silent. If your peer needs pings at fixed times, keep a deadline of your own. `HeartbeatPolicy`
/// controls the pings of the WebSocket itself, which continue independently.
public struct MessageHeartbeat: Hashable, Sendable {
    /// The action to take.
    public enum Step: Hashable, Sendable {
        /// Send a ping: nothing was received for the interval.
        case ping
        /// End the connection: nothing was received for too long.
        case dead
    }
    private let interval: Duration?
    private let patience: Duration
    /// When the last message was received; nil without a connection.
    private var heardAt: Moment?
    private var askedAt: Moment?

    /// Creates a heartbeat without a connection.
    ///
    /// - Parameters:
    ///   - interval: The silence after which this side sends a ping; nil if this side never pings because the peer does.
    ///   - patience: How long the silence may last after a ping. If the peer sends the pings: the longest time from one message to the
    ///   next.
    public init(pingAfter interval: Duration?, patience: Duration) { (self.interval, self.patience) = (interval, patience) }

    /// The moment at which to call ``wake(at:)``; nil without a connection.
    public var deadline: Moment? {
        guard let heardAt else { return nil }
        if let askedAt { return askedAt + patience }
        return heardAt + (interval ?? patience)
    }

    /// Notes that the peer has sent a message, or that a connection has opened.
    public mutating func heard(at now: Moment) { (heardAt, askedAt) = (now, nil) }

    /// Notes that the connection is gone.
    public mutating func stop() { (heardAt, askedAt) = (nil, nil) }

    /// Returns the action that is due; nil if nothing is due yet.
    public mutating func wake(at now: Moment) -> Step? {
        guard let deadline, now >= deadline else { return nil }
        guard interval != nil, askedAt == nil else {
            stop()
            return .dead
        }
        askedAt = now
        return .ping
    }
}
