package import Metrics
import StreamCore
package import WebSocketRuntime

/// The metrics of sessions: one set of series for all sockets of a process that have the same backend.
///
/// The only labels are `state` and `kind`, and both have few values. Neither URLs nor texts of a peer become labels.
final class ClientMeters: Sendable {
    let reconnectAttempts, connections, queueDropped: Counter
    let queueDepth: Meter
    let handshakeDuration, rtt: Metrics.Timer
    let compressionRatio: Recorder
    private let streamReceived, streamDelivered, streamConflated, streamDropped: Counter
    private let traffic: TrafficCounters
    private let sockets: [String: Meter]
    private let errors = LockedValue<[WebSocketError.Code: Counter]>([:])
    private let factory: any MetricsFactory
    private let telemetryMeters = LockedValue<TelemetryMeters?>(nil)

    init(_ factory: any MetricsFactory) {
        self.factory = factory
        func counter(_ name: String) -> Counter { Counter(label: "holdfast_client_" + name, factory: factory) }
        (reconnectAttempts, connections) = (counter("reconnect_attempts"), counter("connections"))
        queueDropped = counter("queue_dropped")
        (streamReceived, streamDelivered) = (counter("stream_received"), counter("stream_delivered"))
        (streamConflated, streamDropped) = (counter("stream_conflated"), counter("stream_dropped"))
        queueDepth = Meter(label: "holdfast_client_queue_depth", factory: factory)
        handshakeDuration = Metrics.Timer(label: "holdfast_client_handshake_duration", factory: factory)
        rtt = Metrics.Timer(label: "holdfast_client_rtt", factory: factory)
        compressionRatio = Recorder(label: "holdfast_client_compression_ratio", factory: factory)
        traffic = TrafficCounters(prefix: "holdfast_client_", factory)
        sockets = Dictionary(
            uniqueKeysWithValues: WebSocketState.labels.map { state in
                (state, Meter(label: "holdfast_client_sockets", dimensions: [("state", state)], factory: factory))
            })
    }

    /// Records the state change of a socket; by increments and decrements, because other sockets count in the same meters.
    func enter(_ state: WebSocketState, from old: WebSocketState?) {
        guard old?.label != state.label else { return }
        if let label = old?.label { sockets[label]?.decrement() }
        if let label = state.label { sockets[label]?.increment() }
    }

    func countError(_ kind: WebSocketError.Code) {
        let counter = errors.withLockedValue { errors in
            if let counter = errors[kind] { return counter }
            let counter = Counter(label: "holdfast_client_errors", dimensions: [("kind", "\(kind)")], factory: factory)
            errors[kind] = counter
            return counter
        }
        counter.increment()
    }

    /// The telemetry metrics, which are created only when a socket uses telemetry.
    var telemetry: TelemetryMeters {
        telemetryMeters.withLockedValue { meters in
            if let meters { return meters }
            let new = TelemetryMeters(factory)
            meters = new
            return new
        }
    }

    func add(_ news: LinkTraffic) { traffic.add(news) }

    func add(_ news: DeliveryCounts) {
        for (counter, count) in [
            (streamReceived, news.received), (streamDelivered, news.delivered), (streamConflated, news.conflated),
            (streamDropped, news.dropped),
        ] where count > 0 { counter.increment(by: Int64(count)) }
    }
}

/// The traffic metrics of clients and servers.
package struct TrafficCounters: Sendable {
    private let bytesIn, bytesOut, messagesIn, messagesOut, payloadIn, payloadOut: Counter

    /// - Parameter prefix: The prefix of the names.
    package init(prefix: String, _ factory: any MetricsFactory) {
        func counter(_ name: String) -> Counter { Counter(label: prefix + name, factory: factory) }
        (bytesIn, bytesOut) = (counter("bytes_in"), counter("bytes_out"))
        (messagesIn, messagesOut) = (counter("messages_in"), counter("messages_out"))
        (payloadIn, payloadOut) = (counter("payload_bytes_in"), counter("payload_bytes_out"))
    }

    /// Adds the traffic since the last call.
    package func add(_ news: LinkTraffic) {
        for (counter, count) in [
            (bytesIn, news.bytesIn), (bytesOut, news.bytesOut), (messagesIn, news.messagesIn), (messagesOut, news.messagesOut),
            (payloadIn, news.payloadIn), (payloadOut, news.payloadOut),
        ] where count > 0 { counter.increment(by: count) }
    }
}
