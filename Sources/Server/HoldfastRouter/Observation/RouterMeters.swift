import Metrics

/// Tells metrics what a router counts.
final class RouterMeters {
    private let gauges: [(meter: Meter, value: (RouterStatus) -> Int)]
    private let counters: [(counter: Counter, value: (RouterStatus) -> Int)]
    private var told: [Int]

    init(_ factory: any MetricsFactory) {
        let gauges: [(String, (RouterStatus) -> Int)] = [
            ("holdfast_router_connections", \.connections), ("holdfast_router_sessions", \.sessions),
        ]
        let counters: [(String, (RouterStatus) -> Int)] = [
            ("holdfast_router_joined", \.joined), ("holdfast_router_refused", \.refused), ("holdfast_router_violations", \.violations),
            ("holdfast_router_overruns", \.overruns), ("holdfast_router_calls", \.calls),
            ("holdfast_router_publications", \.publications), ("holdfast_router_events", \.events),
            ("holdfast_router_messages_in", \.messagesIn), ("holdfast_router_messages_out", \.messagesOut),
            ("holdfast_router_bytes_out", \.bytesOut), ("holdfast_router_unsayable", \.unsayable),
            ("holdfast_router_refused_messages", \.refusedMessages),
        ]
        self.gauges = gauges.map { (Meter(label: $0, factory: factory), $1) }
        self.counters = counters.map { (Counter(label: $0, factory: factory), $1) }
        told = counters.map { _ in 0 }
    }

    func tell(_ status: RouterStatus) {
        for (meter, value) in gauges { meter.set(value(status)) }
        for (index, (counter, value)) in counters.enumerated() {
            let value = value(status)
            counter.increment(by: value - told[index])
            told[index] = value
        }
    }
}
