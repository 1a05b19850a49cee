package import Metrics
import WebSocketRuntime

/// Keeps what is counted and measured, and tells it as Prometheus reads it.
///
/// | swift-metrics | Prometheus |
/// |---|---|
/// | `Counter` | a counter, its name ending in `_total` |
/// | `Meter`, `Gauge` | a gauge |
/// | `Timer` | a histogram in seconds, its name ending in `_seconds` |
/// | `Recorder` | a histogram |
package final class PrometheusRegistry: MetricsFactory {
    /// A registry of nothing.
    package init() {}

    /// More combinations of labels than this of one metric all count in one series, which says so.
    package static let mostSeries = 100
    private static let overflow = [("overflow", "true")]

    private struct Family {
        let kind: PrometheusKind
        /// By their labels, as they are written.
        var series: [String: any PrometheusSeries] = [:]
    }
    private let families = LockedValue<[String: Family]>([:])

    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        series(.counter, label, dimensions) { PrometheusNumber() }
    }

    package func makeFloatingPointCounter(label: String, dimensions: [(String, String)]) -> any FloatingPointCounterHandler {
        series(.counter, label, dimensions) { PrometheusNumber() }
    }

    package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        series(.gauge, label, dimensions) { PrometheusNumber() }
    }

    package func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        aggregate
            ? series(.histogram, label, dimensions) { PrometheusHistogram(bounds: PrometheusHistogram.plain) }
            : series(.gauge, label, dimensions) { PrometheusNumber() }
    }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        series(.timer, label, dimensions) { PrometheusHistogram(bounds: PrometheusHistogram.seconds) }
    }

    package func destroyCounter(_ handler: any CounterHandler) { remove(handler) }
    package func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) { remove(handler) }
    package func destroyMeter(_ handler: any MeterHandler) { remove(handler) }
    package func destroyRecorder(_ handler: any RecorderHandler) { remove(handler) }
    package func destroyTimer(_ handler: any TimerHandler) { remove(handler) }

    /// All of it in the text format 0.0.4.
    package var text: String {
        families.withLockedValue { families in
            families.sorted { $0.key < $1.key }.map { name, family in
                let lines = family.series.sorted { $0.key < $1.key }.flatMap { $1.lines(name, labels: $0) }
                return "# TYPE \(name) \(family.kind.word)\n" + lines.map { $0 + "\n" }.joined()
            }.joined()
        }
    }

    /// The series with these labels; the same for whoever asks.
    private func series<Series: PrometheusSeries>(
        _ kind: PrometheusKind, _ label: String, _ dimensions: [(String, String)], _ make: () -> Series
    ) -> Series {
        let name = PrometheusText.name(label, kind)
        return families.withLockedValue { families in
            var family = families[name] ?? Family(kind: kind)
            var labels = PrometheusText.labels(dimensions)
            if family.series[labels] == nil, family.series.count >= Self.mostSeries { labels = PrometheusText.labels(Self.overflow) }
            // Two kinds of one name cannot both be told: the second counts for itself alone.
            guard family.kind == kind, let series = (family.series[labels] ?? make()) as? Series else { return make() }
            family.series[labels] = series
            families[name] = family
            return series
        }
    }

    private func remove(_ handler: AnyObject) {
        families.withLockedValue { families in
            for (name, family) in families {
                let rest = family.series.filter { $0.value !== handler }
                families[name] = rest.isEmpty ? nil : Family(kind: family.kind, series: rest)
            }
        }
    }
}
