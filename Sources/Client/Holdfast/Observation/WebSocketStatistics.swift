import SessionCore
public import StreamCore
public import WebSocketRuntime

/// A snapshot of what a ``WebSocket`` has done so far; see ``WebSocket/statistics``.
public struct WebSocketStatistics: Sendable {
    /// The state.
    public let state: WebSocketState
    /// The number of connection attempts, including the first one.
    public let attempts: Int
    /// The number of connections that have opened.
    public let connections: Int
    /// The number of connections lost or closed by the server, by the kind of error; does not count those that this side ended.
    public let losses: [WebSocketError.Code: Int]
    /// The number of failed attempts, by the kind of error.
    public let failures: [WebSocketError.Code: Int]
    /// When the newest connection opened; nil before the first.
    public let openedAt: ContinuousClock.Instant?
    /// How long the newest connection took to open: DNS, TCP, TLS and upgrade together.
    public let handshakeDuration: Duration?
    /// The traffic of all connections.
    public let traffic: LinkTraffic
    /// The traffic of the present connection; without one, of the last.
    public let connectionTraffic: LinkTraffic
    /// The number of messages that wait in the send queue for a connection.
    public let queueDepth: Int
    /// The total size of these messages in bytes.
    public let queueBytes: Int
    /// The number of messages dropped so far, as ``WebSocket/droppedSends`` counts them.
    public let dropped: Int
    /// The round-trip times of pings, over all connections.
    public let roundTrips: RoundTrips

    /// The delivery counts of all typed streams.
    public let deliveries: DeliveryCounts

    init(_ history: Instruments.History, deliveries: DeliveryCounts) {
        self.deliveries = deliveries
        (state, attempts, connections) = (history.state, history.attempts, history.connections)
        (losses, failures) = (history.losses, history.failures)
        (openedAt, handshakeDuration) = (history.openedAt, history.handshake)
        (traffic, connectionTraffic) = (history.total, history.present)
        (queueDepth, queueBytes, dropped) = (history.queued.count, history.queued.bytes, history.dropped)
        roundTrips = RoundTrips(history.roundTrips)
    }
}

extension WebSocket {
    /// The statistics so far: attempts, losses, bytes, round trips.
    ///
    /// Reading it takes a lock for a moment, so you may read it often.
    public var statistics: WebSocketStatistics { session.instruments.statistics }
}

extension WebSocketConnection {
    /// The traffic so far.
    public var traffic: LinkTraffic { transport.traffic }
}

/// The round-trip times of pings; see `DurationHistogram` for the accuracy of the percentiles.
public struct RoundTrips: Hashable, Sendable {
    /// The number of round trips.
    public let count: Int
    /// The median: half of the round trips took no longer; nil if there were none.
    public let p50: Duration?
    /// The 95th percentile: 95 of 100 took no longer.
    public let p95: Duration?
    /// The 99th percentile: 99 of 100 took no longer.
    public let p99: Duration?
    /// The longest round trip.
    public let max: Duration?

    /// Creates the summary of a histogram.
    public init(_ histogram: DurationHistogram) {
        (count, max) = (histogram.count, histogram.longest)
        (p50, p95, p99) = (histogram.percentile(50), histogram.percentile(95), histogram.percentile(99))
    }
}
