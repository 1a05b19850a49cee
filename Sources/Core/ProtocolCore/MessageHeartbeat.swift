public import MachineCore

/// Tells a live peer from a dead one by messages of the protocol's own.
///
/// It pings only when the peer is silent. If your peer wants a ping at fixed times, keep a deadline of your own. Pings of the WebSocket itself are `HeartbeatPolicy`'s affair, and go on beside it.
public struct MessageHeartbeat: Hashable, Sendable {
    /// What is to be done.
    public enum Step: Hashable, Sendable {
        /// Send a ping: nothing came for the interval.
        case ping
        /// End the connection: nothing came for too long.
        case dead
    }
    private let interval: Duration?
    private let patience: Duration
    /// When something came last; nil: there is no connection.
    private var heardAt: Moment?
    private var askedAt: Moment?

    /// A heartbeat without a connection.
    ///
    /// - Parameters:
    ///   - interval: After how long a silence this side sends a ping; nil: it never does, for the peer sends them.
    ///   - patience: How long the silence may last after a ping; where the peer sends them, from one message to the next.
    public init(pingAfter interval: Duration?, patience: Duration) { (self.interval, self.patience) = (interval, patience) }

    /// When ``wake(at:)`` has something to say; nil without a connection.
    public var deadline: Moment? {
        guard let heardAt else { return nil }
        if let askedAt { return askedAt + patience }
        return heardAt + (interval ?? patience)
    }

    /// The peer has sent something, whatever it is; also: there is a connection from now on.
    public mutating func heard(at now: Moment) { (heardAt, askedAt) = (now, nil) }

    /// There is no connection any more.
    public mutating func stop() { (heardAt, askedAt) = (nil, nil) }

    /// What is due; nil if nothing is yet.
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
