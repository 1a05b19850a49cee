package import Metrics
import WebSocketRuntime

/// Collects metrics and prints them in the Prometheus text format.
///
/// | swift-metrics | Prometheus |
/// |---|---|
/// | `Counter` | a counter, its name ending in `_total` |
/// | `Meter`, `Gauge` | a gauge |
/// | `Timer` | a histogram in seconds, its name ending in `_seconds` |
/// | `Recorder` | a histogram |
package final class PrometheusRegistry: MetricsFactory {
    /// Creates an empty registry.
    package init() {}

    /// The maximum number of label combinations of one metric; further ones count in one series with the label `overflow`.
    package static let mostSeries = 100
    private static let overflow = [("overflow", "true")]

    private struct Family {
        let kind: PrometheusKind
        /// The series by their labels, in text form.
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

    /// All metrics in the text format 0.0.4.
    package var text: String {
        families.withLockedValue { families in
            families.sorted { $0.key < $1.key }.map { name, family in
                let lines = family.series.sorted { $0.key < $1.key }.flatMap { $1.lines(name, labels: $0) }
                return "# TYPE \(name) \(family.kind.word)\n" + lines.map { $0 + "\n" }.joined()
            }.joined()
        }
    }

    /// Returns the series with these labels; all callers share one series.
    private func series<Series: PrometheusSeries>(
        _ kind: PrometheusKind, _ label: String, _ dimensions: [(String, String)], _ make: () -> Series
    ) -> Series {
        let name = PrometheusText.name(label, kind)
        return families.withLockedValue { families in
            var family = families[name] ?? Family(kind: kind)
            var labels = PrometheusText.labels(dimensions)
            if family.series[labels] == nil, family.series.count >= Self.mostSeries { labels = PrometheusText.labels(Self.overflow) }
            // One name cannot be reported with two kinds: the second kind gets its own series, which is not reported.
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

/// One metric with one combination of labels.
protocol PrometheusSeries: AnyObject, Sendable {
    /// Returns the samples, one line each.
    func lines(_ name: String, labels: String) -> [String]
}

/// A counter or a gauge.
final class PrometheusNumber: PrometheusSeries, CounterHandler, FloatingPointCounterHandler, MeterHandler, RecorderHandler {
    private let value = LockedValue(0.0)

    func increment(by amount: Int64) { increment(by: Double(amount)) }
    func increment(by amount: Double) { value.withLockedValue { $0 += amount } }
    func decrement(by amount: Double) { increment(by: -amount) }
    func set(_ value: Int64) { set(Double(value)) }
    func set(_ value: Double) { self.value.withLockedValue { $0 = value } }
    func record(_ value: Int64) { set(Double(value)) }
    func record(_ value: Double) { set(value) }
    func reset() { set(0.0) }

    func lines(_ name: String, labels: String) -> [String] {
        ["\(name)\(labels) \(PrometheusText.number(value.withLockedValue({ $0 })))"]
    }
}

/// A histogram with cumulative buckets.
final class PrometheusHistogram: PrometheusSeries, RecorderHandler, TimerHandler {
    /// The bounds for times, from half a millisecond to ten seconds.
    static let seconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
    /// The bounds for other values.
    static let plain = [0.1, 0.5, 0.8, 1, 1.5, 2, 3, 5, 10, 20, 50, 100, 1000, 10_000]

    private struct State {
        /// One count for each bound, and one for values above all bounds.
        var counts: [Int]
        var sum = 0.0
    }
    private let bounds: [Double]
    private let state: LockedValue<State>

    init(bounds: [Double]) {
        self.bounds = bounds
        state = LockedValue(State(counts: Array(repeating: 0, count: bounds.count + 1)))
    }

    func record(_ value: Int64) { record(Double(value)) }
    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }
    func record(_ value: Double) {
        let index = bounds.firstIndex { value <= $0 } ?? bounds.count
        state.withLockedValue { state in
            state.counts[index] += 1
            state.sum += value
        }
    }

    func lines(_ name: String, labels: String) -> [String] {
        let state = state.withLockedValue({ $0 })
        var total = 0
        let buckets = zip(bounds + [.infinity], state.counts).map { bound, count in
            total += count
            return "\(name)_bucket\(PrometheusText.labels(labels, and: "le", PrometheusText.number(bound))) \(total)"
        }
        return buckets + ["\(name)_sum\(labels) \(PrometheusText.number(state.sum))", "\(name)_count\(labels) \(total)"]
    }
}

/// The kinds of Prometheus metrics, with a separate kind for histograms of times.
enum PrometheusKind: Hashable, Sendable {
    case counter, gauge, histogram, timer

    /// The word after `# TYPE`.
    var word: String {
        switch self {
        case .counter: "counter"
        case .gauge: "gauge"
        case .histogram, .timer: "histogram"
        }
    }

    fileprivate var suffix: String {
        switch self {
        case .counter: "_total"
        case .timer: "_seconds"
        case .gauge, .histogram: ""
        }
    }
}

/// Formats names, labels and numbers for the text format 0.0.4.
enum PrometheusText {
    /// Returns a name of letters, digits and underscores, with the suffix of its kind.
    static func name(_ label: String, _ kind: PrometheusKind) -> String {
        let name = sanitized(label)
        return name.hasSuffix(kind.suffix) ? name : name + kind.suffix
    }

    /// Returns `{a="b",c="d"}`, ordered by name; empty without labels.
    static func labels(_ dimensions: [(String, String)]) -> String {
        if dimensions.isEmpty { return "" }
        let pairs = dimensions.map { "\(sanitized($0.0))=\"\(escaped($0.1))\"" }
        return "{" + pairs.sorted().joined(separator: ",") + "}"
    }

    /// Adds one label to formatted labels.
    static func labels(_ labels: String, and name: String, _ value: String) -> String {
        labels.isEmpty ? "{\(name)=\"\(value)\"}" : labels.dropLast() + ",\(name)=\"\(value)\"}"
    }

    /// Formats whole numbers without a fraction, and other numbers as they are.
    static func number(_ value: Double) -> String {
        if value == .infinity { return "+Inf" }
        if value == -.infinity { return "-Inf" }
        if value.isNaN { return "NaN" }
        return Int64(exactly: value).map(String.init) ?? "\(value)"
    }

    private static func sanitized(_ text: String) -> String {
        let letters = text.unicodeScalars.map { scalar in
            switch scalar {
            case "a"..."z", "A"..."Z", "0"..."9", "_": String(scalar)
            default: "_"
            }
        }.joined()
        return letters.first.map { !$0.isNumber } ?? false ? letters : "_" + letters
    }

    private static func escaped(_ text: String) -> String {
        text.unicodeScalars.map { scalar in
            switch scalar {
            case "\\": "\\\\"
            case "\"": "\\\""
            case "\n": "\\n"
            default: String(scalar)
            }
        }.joined()
    }
}
