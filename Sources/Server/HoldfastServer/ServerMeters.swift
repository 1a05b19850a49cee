import Metrics
import Holdfast
import WebSocketRuntime
import WebSocketNIO

/// The metrics of a server.
///
/// The only labels are `reason` and `code`. Both have few values, whatever clients send.
final class ServerMeters: Sendable {
    /// Why a request for a WebSocket was refused.
    enum Refusal: String, CaseIterable {
        case full, declined, invalid, timeout
    }
    /// An open connection, and the part of its traffic that was already reported.
    private struct Live {
        let meter: TrafficMeter
        var reported = LinkTraffic()

        mutating func takeNews() -> LinkTraffic {
            let traffic = meter.traffic
            defer { reported = traffic }
            return traffic - reported
        }
    }

    /// How often the traffic of open connections is reported.
    static let watchInterval = Duration.seconds(10)

    private let open: Meter
    private let connections: Counter
    private let refused: [Refusal: Counter]
    private let handshakeDuration: Metrics.Timer
    private let traffic: TrafficCounters
    private let closes = LockedValue<[String: Counter]>([:])
    private let live = LockedValue<[ObjectIdentifier: Live]>([:])
    private let factory: any MetricsFactory

    /// Returns nil if metrics are not collected.
    init?(_ factory: any MetricsFactory) {
        if factory is NOOPMetricsHandler { return nil }
        self.factory = factory
        open = Meter(label: "holdfast_server_connections_open", factory: factory)
        connections = Counter(label: "holdfast_server_connections", factory: factory)
        refused = Dictionary(
            uniqueKeysWithValues: Refusal.allCases.map { reason in
                let dimensions = [("reason", reason.rawValue)]
                return (reason, Counter(label: "holdfast_server_connections_refused", dimensions: dimensions, factory: factory))
            })
        handshakeDuration = Metrics.Timer(label: "holdfast_server_handshake_duration", factory: factory)
        traffic = TrafficCounters(prefix: "holdfast_server_", factory)
    }

    func refused(_ reason: Refusal) { refused[reason]?.increment() }

    func ended(_ handshake: ServerOptions.Outcome) {
        switch handshake {
        case .opened(let duration): handshakeDuration.record(duration: duration)
        case .declined: refused(.declined)
        case .invalid: refused(.invalid)
        case .timedOut: refused(.timeout)
        }
    }

    /// Counts a connection until its end.
    func opened(_ socket: WebSocketChannel) {
        let meter = socket.meter
        live.withLockedValue { $0[ObjectIdentifier(meter)] = Live(meter: meter) }
        connections.increment()
        open.increment()
        socket.whenFinished { record in self.closed(meter, record) }
    }

    /// Reports the traffic since the last call.
    func notifyTraffic() {
        traffic.add(
            live.withLockedValue { live in
                live.keys.reduce(into: LinkTraffic()) { news, id in news += live[id]?.takeNews() ?? LinkTraffic() }
            })
    }

    private func closed(_ meter: TrafficMeter, _ record: CloseRecord) {
        if var ended = live.withLockedValue({ $0.removeValue(forKey: ObjectIdentifier(meter)) }) { traffic.add(ended.takeNews()) }
        open.decrement()
        let label = record.code.label
        let counter = closes.withLockedValue { closes in
            let counter = closes[label] ?? Counter(label: "holdfast_server_closes", dimensions: [("code", label)], factory: factory)
            closes[label] = counter
            return counter
        }
        counter.increment()
    }
}

extension CloseCode {
    /// The label of the code.
    ///
    /// Peers may send thousands of codes, and each would be a separate series.
    fileprivate var label: String {
        switch rawValue {
        case 1000...1015: "\(rawValue)"
        case 3000...3999: "3xxx"
        case 4000...4999: "4xxx"
        default: "other"
        }
    }
}
