import Metrics
import WebSocketRuntime

/// One metric with one combination of labels.
protocol PrometheusSeries: AnyObject, Sendable {
    /// Its samples, a line each.
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
        ["\(name)\(labels) \(PrometheusText.number(value.withLockedValue(\.self)))"]
    }
}

/// A histogram: how many values were at most so large, for each of some bounds.
final class PrometheusHistogram: PrometheusSeries, RecorderHandler, TimerHandler {
    /// For times, from half a millisecond to ten seconds.
    static let seconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
    /// For anything else.
    static let plain = [0.1, 0.5, 0.8, 1, 1.5, 2, 3, 5, 10, 20, 50, 100, 1000, 10_000]

    private struct State {
        /// One for each bound, and one for what is above them all.
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
        let state = state.withLockedValue(\.self)
        var total = 0
        let buckets = zip(bounds + [.infinity], state.counts).map { bound, count in
            total += count
            return "\(name)_bucket\(PrometheusText.labels(labels, and: "le", PrometheusText.number(bound))) \(total)"
        }
        return buckets + ["\(name)_sum\(labels) \(PrometheusText.number(state.sum))", "\(name)_count\(labels) \(total)"]
    }
}
