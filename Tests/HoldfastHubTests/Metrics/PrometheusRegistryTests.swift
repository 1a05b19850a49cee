import Metrics
import Testing

@testable import HoldfastHub

/// The registry's text format 0.0.4.
@Suite struct PrometheusRegistryTests {
    private let registry = PrometheusRegistry()

    private func counter(_ label: String, _ dimensions: [(String, String)] = []) -> Counter {
        Counter(label: label, dimensions: dimensions, factory: registry)
    }

    @Test func `an empty registry gives no text`() { #expect(registry.text == "") }

    @Test func `a counter's name ends in total, and its labels are sorted`() {
        counter("requests", [("path", "a"), ("code", "200")]).increment(by: 3)
        counter("requests", [("code", "200"), ("path", "a")]).increment()
        counter("errors_total").increment(by: 2)
        #expect(
            registry.text == """
                # TYPE errors_total counter
                errors_total 2
                # TYPE requests_total counter
                requests_total{code="200",path="a"} 4

                """)
    }

    @Test func `meters and gauges are gauges`() {
        Meter(label: "open", factory: registry).increment()
        Meter(label: "open", factory: registry).increment()
        Meter(label: "open", factory: registry).decrement()
        Gauge(label: "load", factory: registry).record(0.25)
        #expect(registry.text == "# TYPE load gauge\nload 0.25\n# TYPE open gauge\nopen 1\n")
    }

    @Test func `a timer is a histogram in seconds with cumulative buckets`() {
        let timer = Metrics.Timer(label: "wait", dimensions: [("kind", "x")], factory: registry)
        for nanoseconds in [400_000, 3_000_000, 20_000_000_000] as [Int64] { timer.recordNanoseconds(nanoseconds) }
        let lines = registry.text.split(separator: "\n")
        #expect(lines.first == "# TYPE wait_seconds histogram")
        #expect(lines.contains("wait_seconds_bucket{kind=\"x\",le=\"0.0005\"} 1"))
        #expect(lines.contains("wait_seconds_bucket{kind=\"x\",le=\"0.0025\"} 1"))
        #expect(lines.contains("wait_seconds_bucket{kind=\"x\",le=\"0.005\"} 2"))
        #expect(lines.contains("wait_seconds_bucket{kind=\"x\",le=\"10\"} 2"))
        #expect(lines.contains("wait_seconds_bucket{kind=\"x\",le=\"+Inf\"} 3"))
        #expect(lines.contains("wait_seconds_sum{kind=\"x\"} 20.0034") && lines.contains("wait_seconds_count{kind=\"x\"} 3"))
    }

    @Test func `a value at a bucket's bound is in that bucket`() {
        Recorder(label: "ratio", factory: registry).record(2.0)
        #expect(registry.text.contains("ratio_bucket{le=\"1.5\"} 0\nratio_bucket{le=\"2\"} 1\n"))
    }

    @Test func `invalid names and values are converted`() {
        counter("http.requests-2", [("the path", "a\"b\\c\nd")]).increment()
        counter("2nd").increment()
        #expect(registry.text.contains(#"http_requests_2_total{the_path="a\"b\\c\nd"} 1"#))
        #expect(registry.text.contains("\n_2nd_total 1\n") || registry.text.hasPrefix("# TYPE _2nd_total"))
    }

    @Test func `label sets over the limit are counted in one series that says so`() {
        for number in 0..<1000 { counter("seen", [("id", "\(number)")]).increment() }
        let lines = registry.text.split(separator: "\n").dropFirst()
        #expect(lines.count == PrometheusRegistry.mostSeries + 1)
        #expect(lines.contains("seen_total{overflow=\"true\"} \(1000 - PrometheusRegistry.mostSeries)"))
    }

    @Test func `two kinds of metrics with one name do not conflict`() {
        Meter(label: "size", factory: registry).set(7)
        Recorder(label: "size", factory: registry).record(1)
        #expect(registry.text == "# TYPE size gauge\nsize 7\n")
    }

    @Test func `a destroyed metric is no longer reported`() {
        let gone = counter("gone")
        gone.increment()
        counter("stays").increment()
        gone.destroy()
        #expect(registry.text == "# TYPE stays_total counter\nstays_total 1\n")
    }
}
