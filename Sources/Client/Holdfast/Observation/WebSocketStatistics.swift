import SessionCore
public import StreamCore
public import WebSocketRuntime

/// What a ``WebSocket`` has done so far, as it was when it was asked; see ``WebSocket/statistics``.
public struct WebSocketStatistics: Sendable {
    /// What it was doing.
    public let state: WebSocketState
    /// How often it has tried to connect, the first time included.
    public let attempts: Int
    /// How many connections have opened.
    public let connections: Int
    /// How many of them were lost, or closed by the server, by the kind of error; those that this side ended are not in it.
    public let losses: [WebSocketError.Code: Int]
    /// How many attempts have failed, by the kind of error.
    public let failures: [WebSocketError.Code: Int]
    /// When the newest connection opened; nil before the first.
    public let openedAt: ContinuousClock.Instant?
    /// How long it took to open: name, TCP, TLS and upgrade together.
    public let handshakeDuration: Duration?
    /// What all connections have carried.
    public let traffic: LinkTraffic
    /// What the present connection has carried; without one, the last.
    public let connectionTraffic: LinkTraffic
    /// How many messages wait in the send queue for a connection.
    public let queueDepth: Int
    /// How many bytes they have.
    public let queueBytes: Int
    /// How many messages of ours gave way, for there was no room in the queue.
    public let dropped: Int
    /// How long pongs took to come, over all connections.
    public let roundTrips: RoundTrips

    /// What became of the values of all typed streams.
    public let deliveries: DeliveryCounts

    init(_ ledger: Instruments.Ledger, deliveries: DeliveryCounts) {
        self.deliveries = deliveries
        (state, attempts, connections) = (ledger.state, ledger.attempts, ledger.connections)
        (losses, failures) = (ledger.losses, ledger.failures)
        (openedAt, handshakeDuration) = (ledger.openedAt, ledger.handshake)
        (traffic, connectionTraffic) = (ledger.total, ledger.present)
        (queueDepth, queueBytes, dropped) = (ledger.queued.count, ledger.queued.bytes, ledger.dropped)
        roundTrips = RoundTrips(ledger.roundTrips)
    }
}

extension WebSocket {
    /// What it has done so far: attempts, losses, bytes, round trips.
    ///
    /// Costs a lock for a moment, so it may be asked as often as somebody looks.
    public var statistics: WebSocketStatistics { session.instruments.statistics }
}

extension WebSocketConnection {
    /// What it has carried so far.
    public var traffic: LinkTraffic { transport.traffic }
}

/// How long pongs took to come; see `DurationHistogram` for how exact the percentiles are.
public struct RoundTrips: Hashable, Sendable {
    /// How many there were.
    public let count: Int
    /// Half of them took no longer; nil if there were none.
    public let p50: Duration?
    /// 95 of a hundred took no longer.
    public let p95: Duration?
    /// 99 of a hundred took no longer.
    public let p99: Duration?
    /// The longest.
    public let max: Duration?

    /// What a histogram tells.
    public init(_ histogram: DurationHistogram) {
        (count, max) = (histogram.count, histogram.longest)
        (p50, p95, p99) = (histogram.percentile(50), histogram.percentile(95), histogram.percentile(99))
    }
}
