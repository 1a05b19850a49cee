import Logging
import MachineCore
import Metrics
import SessionCore
import StreamCore
import Tracing
import WebSocketCore
import WebSocketRuntime

/// Is told all that a session does, and passes it on to the app's logger, metrics and tracer; nothing else knows of these.
///
/// Never told of single messages, unless the app wants to see them: what was carried is read off the transports when somebody asks.
final class Instruments: Sendable {
    /// What there is to be told of the past.
    struct Ledger {
        var attempts = 0
        var connections = 0
        var losses: [WebSocketError.Code: Int] = [:]
        var failures: [WebSocketError.Code: Int] = [:]
        var openedAt: ContinuousClock.Instant?
        var handshake: Duration?
        /// Connections that are open, by their generation.
        var live: [UInt64: any MessageTransport] = [:]
        var newest: UInt64?
        /// What connections carried that are over, and the newest of them alone.
        var ended = LinkTraffic()
        var lastEnded = LinkTraffic()
        /// How much of it all the metrics know.
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
    /// Nil unless the app wants to see messages.
    let payloads: PayloadLog?
    let tracer: (any Tracer)?
    let meters: ClientMeters?
    /// What became of the values of typed streams, and how much of it the metrics know.
    let deliveries = DeliveryLedger()
    private let reportedDeliveries = LockedValue(DeliveryCounts())
    /// The time since the socket was made, by its clock.
    let now: @Sendable () -> Duration
    private let ledger = LockedValue(Ledger())

    /// - Parameter clock: What the session measures its time with.
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

    /// Whether anybody wants to know what is being carried while it is.
    var isWatched: Bool { meters != nil || log.logger.logLevel <= .trace }

    /// Opens a connection as `connect` does, in a span of its own; with how long that took.
    func connecting(
        _ attempt: WebSocketAttempt, _ connect: () async throws(WebSocketError) -> WebSocketConnection
    ) async throws(WebSocketError) -> (connection: WebSocketConnection, handshake: Duration) {
        let earlier = ledger.withLockedValue { ledger in
            ledger.attempts += 1
            return ledger.attempts - 1
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

    /// A connection is open, and counts from here on until ``ended(_:_:isForgotten:)``.
    func opened(_ generation: UInt64, _ attempt: WebSocketAttempt, _ connection: WebSocketConnection, handshake: Duration) {
        ledger.withLockedValue { ledger in
            ledger.connections += 1
            (ledger.openedAt, ledger.handshake) = (.now, handshake)
            ledger.live[generation] = connection.transport
            ledger.newest = max(generation, ledger.newest ?? 0)
        }
        meters?.connections.increment()
        meters?.handshakeDuration.record(duration: handshake)
        log.opened(attempt, handshake: handshake, isCompressed: connection.compression != nil)
    }

    /// A connection, or an attempt at one, is over.
    ///
    /// - Parameter isForgotten: This side wanted it to end.
    func ended(_ generation: UInt64, _ cause: WebSocketError?, isForgotten: Bool) {
        let transport = ledger.withLockedValue { ledger in
            let transport = ledger.live.removeValue(forKey: generation)
            if let traffic = transport?.traffic {
                ledger.ended += traffic
                if ledger.newest == generation {
                    ledger.lastEnded = traffic
                    // It was to take over, and was given up: an older one is the present one again.
                    if isForgotten, let older = ledger.live.keys.max() { ledger.newest = older }
                }
            }
            guard !isForgotten, let cause else { return transport }
            if transport == nil { ledger.failures[cause.code, default: 0] += 1 } else { ledger.losses[cause.code, default: 0] += 1 }
            return transport
        }
        tellTraffic()
        if let transport, transport.agreement.deflate != nil, let ratio = transport.traffic.compressionRatio {
            meters?.compressionRatio.record(ratio)
        }
        if !isForgotten, let cause, !cause.isPeaceful { meters?.countError(cause.code) }
        log.ended(cause, wasOpen: transport != nil, isForgotten: isForgotten, transport?.closeRecord)
    }

    /// There is no credential to connect with.
    func noCredential(_ error: WebSocketError) {
        ledger.withLockedValue { $0.failures[error.code, default: 0] += 1 }
        meters?.countError(error.code)
        log.failed(error)
    }

    /// The session is in this state now.
    func entered(_ state: WebSocketState) {
        let old = ledger.withLockedValue { ledger in
            defer { ledger.state = state }
            return ledger.state
        }
        meters?.enter(state, from: old)
        log.entered(state)
    }

    /// A pong came.
    func roundTrip(_ time: Duration) {
        ledger.withLockedValue { $0.roundTrips.record(time) }
        meters?.rtt.record(duration: time)
        log.roundTrip(time)
    }

    /// So much waits to be sent, outside of any connection.
    func queued(count: Int, bytes: Int) {
        let change = ledger.withLockedValue { ledger in
            defer { ledger.queued = (count, bytes) }
            return count - ledger.queued.count
        }
        // Backends take no negative amounts.
        if change > 0 { meters?.queueDepth.increment(by: Double(change)) }
        if change < 0 { meters?.queueDepth.decrement(by: Double(-change)) }
    }

    /// Messages of ours gave way, for there was no room for them.
    func dropped(_ count: Int = 1) {
        let total = ledger.withLockedValue { ledger in
            ledger.dropped += count
            return ledger.dropped
        }
        meters?.queueDropped.increment(by: Int64(count))
        log.dropped(count, total: total)
    }

    /// Tells the metrics what was carried since they last heard of it.
    func tellTraffic() {
        let (news, total) = ledger.withLockedValue { ledger in
            let total = ledger.total
            defer { ledger.reported = total }
            return (total - ledger.reported, total)
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

    /// What is known by now.
    var statistics: WebSocketStatistics {
        let counts = deliveries.counts
        return ledger.withLockedValue { WebSocketStatistics($0, deliveries: counts) }
    }

    /// Runs `body` in a span, which ends with it.
    ///
    /// Of an error the span gets the kind, and the status if the server gave one; its words may be the peer's.
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
    /// Both sides have parted in peace.
    fileprivate var isPeaceful: Bool { code == .closed && closeRecord.map { TransportError(ending: $0) == nil } ?? false }
}

/// Puts what a tracer says of the span into the upgrade request, so that the server's trace goes on from it.
struct HeaderInjector: Injector {
    func inject(_ value: String, forKey key: String, into headers: inout HeaderFields) { headers[key] = value }
}
