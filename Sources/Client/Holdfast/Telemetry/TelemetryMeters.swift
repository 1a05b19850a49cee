import Metrics
import StreamCore

/// The metrics of telemetry, of all sockets of a process together.
struct TelemetryMeters: Sendable {
    private let recorded, sent, sampled, dropped: Counter
    private let keptShare: Meter

    init(_ factory: any MetricsFactory) {
        func counter(_ name: String) -> Counter { Counter(label: "holdfast_client_telemetry_" + name, factory: factory) }
        (recorded, sent) = (counter("recorded"), counter("sent"))
        (sampled, dropped) = (counter("sampled"), counter("dropped"))
        keptShare = Meter(label: "holdfast_client_telemetry_kept_share", factory: factory)
    }

    /// Adds what happened since `old`.
    func add(_ new: TelemetryCounts, since old: TelemetryCounts) {
        for (counter, news) in [
            (recorded, new.recorded - old.recorded), (sent, new.sent - old.sent), (sampled, new.sampled - old.sampled),
            (dropped, new.dropped - old.dropped),
        ] where news > 0 { counter.increment(by: Int64(news)) }
    }

    func keeps(_ share: SampleShare) { keptShare.set(share.fraction) }
}
