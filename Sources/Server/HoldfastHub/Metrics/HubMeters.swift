import Metrics

/// Tells metrics what the hub counts, once a second.
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

    func tell(_ report: HubReport) {
        for (meter, value) in gauges { meter.set(value(report)) }
        for (index, (counter, value)) in counters.enumerated() {
            let value = value(report)
            counter.increment(by: Int64(clamping: value - told[index]))
            told[index] = value
        }
    }
}
