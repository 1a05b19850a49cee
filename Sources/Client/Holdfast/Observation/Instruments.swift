import Logging
import MachineCore
import Metrics
import SessionCore
public import StreamCore
import Tracing
import WebSocketCore
public import WebSocketRuntime

/// Reports the events of a session to the app's logger, metrics and tracer; no other type uses these.
///
/// It gets no events for single messages, unless the app logs payloads. It reads the traffic counters from the transports on demand.
final class Instruments: Sendable {
    /// The counters and times recorded so far.
    struct History {
        var attempts = 0
        var connections = 0
        var losses: [WebSocketError.Code: Int] = [:]
        var failures: [WebSocketError.Code: Int] = [:]
        var openedAt: ContinuousClock.Instant?
        var handshake: Duration?
        /// The open connections by their generation.
        var live: [UInt64: any MessageTransport] = [:]
        var newest: UInt64?
        /// The traffic of all ended connections, and of the newest of them alone.
        var ended = LinkTraffic()
        var lastEnded = LinkTraffic()
        /// The traffic that the metrics already have.
        var reported = LinkTraffic()
        var queued: (count: Int, bytes: Int) = (0, 0)
        var dropped = 0
        var roundTrips = DurationHistogram()
        var state = WebSocketState.disconnected(nil)

        var present: LinkTraffic { newest.flatMap { live[$0]?.traffic } ?? lastEnded }
        var total: LinkTraffic { live.values.reduce(ended) { $0 + $1.traffic } }
    }

    let log: SessionLog
    let secrets: SessionSecrets
    /// The log of payloads; nil unless the app wants it.
    let payloads: PayloadLog?
    let tracer: (any Tracer)?
    let meters: ClientMeters?
    /// The delivery counts of typed streams, and the part that the metrics already have.
    let deliveries = DeliveryTotals()
    private let reportedDeliveries = LockedValue(DeliveryCounts())
    /// The time since the socket was created, by its clock.
    let now: @Sendable () -> Duration
    private let history = LockedValue(History())

    /// - Parameter clock: The clock of the session.
    init<C: Clock>(_ options: WebSocketOptions, clock: C) where C.Duration == Duration {
        log = SessionLog(logger: options.logger, endpoints: options.endpointNames)
        secrets = options.secrets(options.endpointURLs)
        payloads = PayloadLog(options, secrets)
        tracer = options.tracer
        let factory = options.metrics ?? MetricsSystem.factory
        meters = factory is NOOPMetricsHandler ? nil : ClientMeters(factory)
        let origin = clock.now
        now = { origin.duration(to: clock.now) }
        meters?.enter(.disconnected(nil), from: nil)
    }

    /// Whether the traffic of an open connection has to be reported regularly.
    var isWatched: Bool { meters != nil || log.logger.logLevel <= .trace }

    /// Opens a connection with `connect` in its own span; also returns how long that took.
    func connecting(
        _ attempt: WebSocketAttempt, _ connect: () async throws(WebSocketError) -> WebSocketConnection
    ) async throws(WebSocketError) -> (connection: WebSocketConnection, handshake: Duration) {
        let earlier = history.withLockedValue { history in
            history.attempts += 1
            return history.attempts - 1
        }
        if earlier > 0 { meters?.reconnectAttempts.increment() }
        if let credential = attempt.credential { secrets.hide(credential.secret) }
        log.connecting(attempt)
        let start = now()
        var attributes: SpanAttributes = [:]
        attributes["holdfast.attempt"] = attempt.number
        if let url = log.endpoint(attempt.endpoint) { attributes["url.full"] = url }
        let connection = try await span("websocket connect", attributes, connect)
        return (payloads?.watching(connection) ?? connection, now() - start)
    }

    /// Records an open connection, which counts until ``ended(_:_:isForgotten:)``.
    func opened(_ generation: UInt64, _ attempt: WebSocketAttempt, _ connection: WebSocketConnection, handshake: Duration) {
        history.withLockedValue { history in
            history.connections += 1
            (history.openedAt, history.handshake) = (.now, handshake)
            history.live[generation] = connection.transport
            history.newest = max(generation, history.newest ?? 0)
        }
        meters?.connections.increment()
        meters?.handshakeDuration.record(duration: handshake)
        log.opened(attempt, handshake: handshake, isCompressed: connection.compression != nil)
    }

    /// Records the end of a connection, or of an attempt.
    ///
    /// - Parameter isForgotten: Whether this side ended it on purpose.
    func ended(_ generation: UInt64, _ cause: WebSocketError?, isForgotten: Bool) {
        let transport = history.withLockedValue { history in
            let transport = history.live.removeValue(forKey: generation)
            if let traffic = transport?.traffic {
                history.ended += traffic
                if history.newest == generation {
                    history.lastEnded = traffic
                    // A handover was given up: an older connection is the present one again.
                    if isForgotten, let older = history.live.keys.max() { history.newest = older }
                }
            }
            guard !isForgotten, let cause else { return transport }
            if transport == nil { history.failures[cause.code, default: 0] += 1 } else { history.losses[cause.code, default: 0] += 1 }
            return transport
        }
        notifyTraffic()
        if let transport, transport.agreement.deflate != nil, let ratio = transport.traffic.compressionRatio {
            meters?.compressionRatio.record(ratio)
        }
        if !isForgotten, let cause, !cause.isPeaceful { meters?.countError(cause.code) }
        log.ended(cause, wasOpen: transport != nil, isForgotten: isForgotten, transport?.closeRecord)
    }

    /// Records that there is no credential to connect with.
    func noCredential(_ error: WebSocketError) {
        history.withLockedValue { $0.failures[error.code, default: 0] += 1 }
        meters?.countError(error.code)
        log.failed(error)
    }

    /// Records the present state of the session.
    func entered(_ state: WebSocketState) {
        let old = history.withLockedValue { history in
            defer { history.state = state }
            return history.state
        }
        meters?.enter(state, from: old)
        log.entered(state)
    }

    /// Records a round-trip time.
    func roundTrip(_ time: Duration) {
        history.withLockedValue { $0.roundTrips.record(time) }
        meters?.rtt.record(duration: time)
        log.roundTrip(time)
    }

    /// Records how much waits in the send queue.
    func queued(count: Int, bytes: Int) {
        let change = history.withLockedValue { history in
            defer { history.queued = (count, bytes) }
            return count - history.queued.count
        }
        // Backends do not accept negative amounts.
        if change > 0 { meters?.queueDepth.increment(by: Double(change)) }
        if change < 0 { meters?.queueDepth.decrement(by: Double(-change)) }
    }

    /// Records messages that were dropped from the send queue.
    func dropped(_ count: Int = 1) {
        let total = history.withLockedValue { history in
            history.dropped += count
            return history.dropped
        }
        meters?.queueDropped.increment(by: Int64(count))
        log.dropped(count, total: total)
    }

    /// Reports the traffic since the last report to the metrics.
    func notifyTraffic() {
        let (news, total) = history.withLockedValue { history in
            let total = history.total
            defer { history.reported = total }
            return (total - history.reported, total)
        }
        meters?.add(news)
        if let meters {
            meters.add(
                reportedDeliveries.withLockedValue { reported in
                    let counts = deliveries.counts
                    defer { reported = counts }
                    return counts - reported
                })
        }
        log.carried(total)
    }

    /// The statistics so far.
    var statistics: WebSocketStatistics {
        let counts = deliveries.counts
        return history.withLockedValue { WebSocketStatistics($0, deliveries: counts) }
    }

    /// Runs `body` in a span, which ends with it.
    ///
    /// For an error the span gets the kind, and the HTTP status if there is one. It does not get the error's text, which may come from the peer.
    func span<Result>(
        _ name: String, _ attributes: SpanAttributes = [:], _ body: () async throws(WebSocketError) -> Result
    ) async throws(WebSocketError) -> Result {
        let tracer = tracer ?? InstrumentationSystem.tracer
        let span: any Span = tracer.startSpan(name, ofKind: .client)
        span.updateAttributes { $0.merge(attributes) }
        defer { span.end() }
        let result = await InstrumentationContext.withValue(span.context) { () async -> Swift.Result<Result, WebSocketError> in
            do throws(WebSocketError) { return .success(try await body()) } catch { return .failure(error) }
        }
        if case .failure(let error) = result {
            span.updateAttributes { attributes in
                attributes["error.type"] = "\(error.code)"
                if let status = error.httpStatus { attributes["http.response.status_code"] = status }
            }
            span.setStatus(SpanStatus(code: .error, message: "\(error.code)"))
        }
        return try result.get()
    }
}

extension WebSocketError {
    /// Whether both sides closed normally.
    fileprivate var isPeaceful: Bool { code == .closed && closeRecord.map { TransportError(ending: $0) == nil } ?? false }
}

/// Adds the tracing context of a span to the upgrade request, so that the server's trace continues it.
struct HeaderInjector: Injector {
    func inject(_ value: String, forKey key: String, into headers: inout HeaderFields) { headers[key] = value }
}

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
