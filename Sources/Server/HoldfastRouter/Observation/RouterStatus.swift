import Metrics

/// What a router has done, and has at present.
public struct RouterStatus: Hashable, Sendable {
    /// Clients that are connected, whether or not they have joined.
    public var connections = 0
    /// Sessions that have joined and not left.
    public var sessions = 0
    /// Sessions that have ever joined.
    public var joined = 0
    /// Clients that were not let in.
    public var refused = 0
    /// Clients that broke the protocol, and were cut off.
    public var violations = 0
    /// Clients that were cut off for too much waited for them.
    public var overruns = 0
    /// Calls that came, granted or not; each part of progressive input is one.
    public var calls = 0
    /// Publications that came, granted or not.
    public var publications = 0
    /// Events that went out: a publication counts for each subscriber.
    public var events = 0
    /// Messages that came.
    public var messagesIn = 0
    /// Messages that were handed to connections.
    public var messagesOut = 0
    /// Bytes of those.
    public var bytesOut = 0
    /// Messages too long for their receiver, or whose content its serialization has no form for: they ended as errors, or were left out.
    public var unsayable = 0
    /// Messages for which a client had no room, for others had filled its queue: calls ended as errors, events were left out.
    public var refusedMessages = 0

    /// Nothing yet.
    public init() {}
}

extension RouterStatus {
    /// Adds what another has counted.
    mutating func add(_ other: RouterStatus) {
        connections += other.connections
        sessions += other.sessions
        joined += other.joined
        refused += other.refused
        violations += other.violations
        overruns += other.overruns
        calls += other.calls
        publications += other.publications
        events += other.events
        messagesIn += other.messagesIn
        messagesOut += other.messagesOut
        bytesOut += other.bytesOut
        unsayable += other.unsayable
        refusedMessages += other.refusedMessages
    }
}

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
