import Holdfast
import Metrics
import NIOCore
import RoomsWire
import WebSocketRuntime

/// Reports the hub's counters to a metrics factory, once per second.
final class HubMeters {
    private let gauges: [(meter: Meter, value: (HubReport) -> Double)]
    private let counters: [(counter: Counter, value: (HubReport) -> UInt64)]
    private var told: [UInt64]

    init(_ factory: any MetricsFactory) {
        let gauges: [(String, (HubReport) -> Double)] = [
            ("holdfast_hub_rooms", { Double($0.rooms) }), ("holdfast_hub_rooms_closed", { Double($0.closedRooms) }),
            ("holdfast_hub_connections", { Double($0.connections) }), ("holdfast_hub_members", { Double($0.members) }),
            ("holdfast_hub_log_healthy", { $0.healthy ? 1 : 0 }), ("holdfast_hub_log_bytes", { Double($0.log.bytes) }),
            ("holdfast_hub_log_renewed", { $0.log.renewed ? 1 : 0 }), ("holdfast_hub_clock_doubted", { $0.log.doubted ? 1 : 0 }),
            ("holdfast_hub_log_space", { Double($0.log.space ?? 0) }),
        ]
        let counters: [(String, (HubReport) -> UInt64)] = [
            ("holdfast_hub_published", \.totals.published), ("holdfast_hub_acked", \.totals.acked),
            ("holdfast_hub_duplicates", \.totals.duplicates), ("holdfast_hub_holes", \.totals.holes),
            ("holdfast_hub_delivered", \.totals.delivered), ("holdfast_hub_ephemerals", \.totals.ephemerals),
            ("holdfast_hub_snapshots", \.totals.snapshots), ("holdfast_hub_resumes", \.totals.resumes),
            ("holdfast_hub_lagged", \.totals.lagged), ("holdfast_hub_refused", \.totals.refused),
            ("holdfast_hub_dropped", \.totals.dropped), ("holdfast_hub_commits", \.totals.commits),
            ("holdfast_hub_append_failures", \.totals.failedAppends), ("holdfast_hub_rooms_crowded_out", \.totals.crowdedOut),
            ("holdfast_hub_rooms_rewound", \.totals.rewound), ("holdfast_hub_over_quota", \.totals.overQuota),
            ("holdfast_hub_unsaid", \.totals.unsaid),
        ]
        self.gauges = gauges.map { (Meter(label: $0, factory: factory), $1) }
        self.counters = counters.map { (Counter(label: $0, factory: factory), $1) }
        told = counters.map { _ in 0 }
    }

    func notify(_ report: HubReport) {
        for (meter, value) in gauges { meter.set(value(report)) }
        for (index, (counter, value)) in counters.enumerated() {
            let value = value(report)
            counter.increment(by: Int64(clamping: value - told[index]))
            told[index] = value
        }
    }
}

/// Counters outside of the hub's state machine, updated from all event loops.
final class HubGauges: Sendable {
    struct Readings: Sendable {
        var connections = 0
        var bytesIn = 0
        var bytesOut = 0
        /// Ephemeral frames that were dropped because the client was slow.
        var dropped = 0
        var commits = 0
        var committed = 0
        /// Times since the last reading.
        var commit = DurationHistogram()
        var fanOut = DurationHistogram()
    }
    private struct State {
        var readings = Readings()
        var speakers: [RoomsEncoding: Int] = [:]
        var encodings: Set<RoomsEncoding> = []
    }
    private let state = LockedValue(State())

    /// The encodings that connected clients use.
    var encodings: Set<RoomsEncoding> { state.withLockedValue({ $0.encodings }) }

    /// The number of connected clients.
    var connections: Int { state.withLockedValue({ $0.readings.connections }) }

    func add(_ encoding: RoomsEncoding, _ difference: Int) {
        state.withLockedValue { state in
            state.readings.connections += difference
            let speakers = state.speakers[encoding, default: 0] + difference
            state.speakers[encoding] = speakers
            if speakers == 0 { state.encodings.remove(encoding) } else { state.encodings.insert(encoding) }
        }
    }

    func carried(in bytesIn: Int, out bytesOut: Int, dropped: Int, fanOut: TimeAmount?) {
        state.withLockedValue { state in
            state.readings.bytesIn += bytesIn
            state.readings.bytesOut += bytesOut
            state.readings.dropped += dropped
            if let fanOut { state.readings.fanOut.record(.nanoseconds(fanOut.nanoseconds)) }
        }
    }

    /// Counts a transaction of the log with this many records.
    func committed(_ records: Int, in duration: Duration) {
        state.withLockedValue { state in
            state.readings.commits += 1
            state.readings.committed += records
            state.readings.commit.record(duration)
        }
    }

    /// Returns the counts, and resets the times.
    func read() -> Readings {
        state.withLockedValue { state in
            defer { (state.readings.commit, state.readings.fanOut) = (DurationHistogram(), DurationHistogram()) }
            return state.readings
        }
    }
}
