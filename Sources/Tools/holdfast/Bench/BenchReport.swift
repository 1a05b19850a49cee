import Histogram
import HoldfastTerminal

/// The result of a benchmark, as `--json` prints it; message times are in microseconds.
struct BenchReport: Hashable, Sendable, Codable {
    struct Errors: Hashable, Sendable, Codable {
        let wrong: Int
        let disordered: Int
        let lost: Int
        let connectionsEnded: Int

        var total: Int { wrong + disordered + lost + connectionsEnded }
    }

    struct Spread: Hashable, Sendable, Codable {
        let count: Int
        let min: Int
        let mean: Double
        let p50: Int
        let p90: Int
        let p99: Int
        let p999: Int
        let p9999: Int
        let max: Int

        init(_ latencies: Latencies) {
            (count, min, max) = (latencies.count, latencies.shortest, latencies.max)
            mean = (latencies.mean * 10).rounded() / 10
            let values = Latencies.told.map(latencies.percentile)
            (p50, p90, p99, p999, p9999) = (values[0], values[1], values[2], values[3], values[4])
        }

        var named: [(name: String, value: Int)] {
            [("p50", p50), ("p90", p90), ("p99", p99), ("p99.9", p999), ("p99.99", p9999), ("max", max)]
        }
    }

    let url: String
    let connections: Int
    let depth: Int
    let size: Int
    let kind: String
    let isCompressed: Bool
    /// The requested messages per second; nil for a closed loop.
    let rate: Double?
    let warmUpSeconds: Double
    let seconds: Double
    let wasStopped: Bool
    /// The replies within the measured time.
    let messages: Int
    let messagesPerSecond: Double
    let bytesSent: Int
    let bytesReceived: Int
    let errors: Errors
    /// Messages that were due but never sent, because too many messages were waiting for a reply.
    let unsent: Int
    /// The time from when a message was due until its reply arrived, for replies after the warm-up.
    let latency: Spread
    /// The time from when a message was due until it was sent; nil for a closed loop.
    let sendDelay: Spread?
    let histogram: [LatencyChart.Row]

    init(url: String, plan: BenchPlan, tally: Tally, connectionsEnded: Int, measured: Duration, isCompressed: Bool, wasStopped: Bool) {
        (self.url, self.isCompressed, self.wasStopped) = (url, isCompressed, wasStopped)
        (connections, depth, size, kind, rate) = (plan.connections, plan.depth, plan.payload.size, plan.payload.kind.rawValue, plan.rate)
        warmUpSeconds = plan.warmUp / .seconds(1)
        seconds = measured / .seconds(1)
        messages = tally.counts.received
        messagesPerSecond = seconds > 0 ? (Double(messages) / seconds * 10).rounded() / 10 : 0
        (bytesSent, bytesReceived) = (tally.counts.sent * plan.payload.size, tally.counts.receivedBytes)
        errors = Errors(
            wrong: tally.counts.wrong, disordered: tally.counts.disordered, lost: tally.counts.lost, connectionsEnded: connectionsEnded)
        unsent = tally.counts.unsent
        latency = Spread(tally.latencies)
        sendDelay = plan.rate == nil ? nil : Spread(tally.delays)
        histogram = LatencyChart(tally.latencies.recorded).rows
    }

    /// The report as JSON, with sorted keys; encoding cannot fail because all numbers are finite and the rest is text.
    var json: String { (try? inPrettyJSON()) ?? "{}" }

    private static let nameWidth = 12
    private static let valueWidth = 12

    /// Returns the report as text for people.
    func lines(style: Style) -> [String] {
        let blocks = [heading(style), latencyTable(style), totals(style), LatencyChart(rows: histogram).lines]
        return Array(blocks.filter { !$0.isEmpty }.joined(separator: [""]))
    }

    private func heading(_ style: Style) -> [String] {
        let what = [
            Self.count(connections, "connection"), "at most \(depth.grouped) in flight on each", "\(kind) of \(Self.count(size, "byte"))",
        ]
        let load =
            if let rate {
                "open loop: \(Self.figure(rate)) messages/s in total; latency counts from when a message was due"
            } else {
                "closed loop: a reply triggers the next message, so a slow server gets fewer (see --rate)"
            }
        let time = "measured \(Duration.seconds(seconds).phrase) after \(Duration.seconds(warmUpSeconds).phrase) of warm-up"
        return [
            style.paint(url, .prompt), (what + (isCompressed ? ["permessage-deflate"] : [])).joined(separator: ", "), load,
            time + (wasStopped ? ", then stopped" : ""),
        ]
    }

    private func latencyTable(_ style: Style) -> [String] {
        guard latency.count > 0 else { return [style.paint("no message was answered in the time measured", .bad)] }
        let columns = sendDelay == nil ? [("", latency)] : [("due to reply", latency), ("due to sent", sendDelay ?? latency)]
        func row(_ name: String, _ cells: [String]) -> String {
            name + cells.map { $0.paddedLeft(to: Self.valueWidth) }.joined(separator: "  ")
        }
        let head = columns.count == 1 ? "latency" : row("latency".paddedRight(to: Self.nameWidth), columns.map(\.0))
        let body = latency.named.indices.map { index in
            row(latency.named[index].name.paddedLeft(to: Self.nameWidth), columns.map { $0.1.named[index].value.latencyPhrase })
        }
        return [head] + body
    }

    private func totals(_ style: Style) -> [String] {
        func row(_ name: String, _ text: String) -> String { name.paddedRight(to: Self.nameWidth) + text }
        var lines = [
            row("throughput", "\(Int(messagesPerSecond.rounded()).grouped) messages/s, \(perSecond(bytesReceived))"),
            row("received", "\(Self.count(messages, "message")), \(bytesReceived.bytesPhrase)"),
            row("sent", bytesSent.bytesPhrase),
        ]
        if unsent > 0 {
            let unsent = "\(Self.count(unsent, "message")) could not be sent: the rate was too high, the real latencies are longer"
            lines.append(row("unsent", style.paint(unsent, .note)))
        }
        lines.append(row("errors", errors.total == 0 ? "0" : style.paint(problems.joined(separator: ", "), .bad)))
        return lines
    }

    private var problems: [String] {
        [
            (errors.wrong, "of the wrong kind or length"), (errors.disordered, "out of order"), (errors.lost, "without a reply"),
            (errors.connectionsEnded, "connection(s) ended early"),
        ].filter { $0.0 > 0 }.map { "\($0.0.grouped) \($0.1)" }
    }

    private static func count(_ number: Int, _ noun: String) -> String { "\(number.grouped) \(noun)\(number == 1 ? "" : "s")" }

    private func perSecond(_ bytes: Int) -> String { (seconds > 0 ? Int(Double(bytes) / seconds) : 0).bytesPhrase + "/s" }

    private static func figure(_ rate: Double) -> String { rate == rate.rounded() ? Int(rate).grouped : String(rate) }
}

extension Int {
    /// The number of microseconds as a latency: `42 µs`, `1.25 ms`, `60 s or more`.
    var latencyPhrase: String {
        if self >= Latencies.longest { return "60 s or more" }
        return self < 1000 ? "\(self) µs" : Duration.microseconds(self).phrase
    }
}

/// A distribution as a text chart: one row for each step of time, on a scale of round numbers that grow by factors.
struct LatencyChart: Hashable, Sendable {
    /// The number of values from `from` up to, but not including, `to`; in microseconds.
    struct Row: Hashable, Sendable, Codable {
        let from: Int
        let to: Int
        var count: Int
    }

    private static let mostRows = 20
    private static let barWidth = 40
    /// The steps within a power of ten, from fine to coarse.
    private static let scales: [[Double]] = [
        [1, 1.2, 1.5, 1.8, 2, 2.5, 3, 4, 5, 6, 7, 8, 9], [1, 1.5, 2, 3, 5, 7], [1, 2, 5], [1],
    ]

    /// The rows from the smallest to the greatest value, including empty rows between them.
    let rows: [Row]

    init(rows: [Row]) { self.rows = rows }

    /// Distributes ascending values over the finest scale that needs at most 20 rows.
    init(_ recorded: [(value: Int, count: Int)]) {
        let charts = Self.scales.lazy.map { Self.rows(of: recorded, scale: $0) }
        rows = charts.first { $0.count <= Self.mostRows } ?? []
    }

    /// One line for each row: its times, a bar, its share and its count.
    var lines: [String] {
        let total = rows.reduce(0) { $0 + $1.count }
        let most = rows.map(\.count).max() ?? 0
        let names = rows.map { ($0.from.latencyPhrase, $0.to.latencyPhrase) }
        let widths = (names.map(\.0.count).max() ?? 0, names.map(\.1.count).max() ?? 0)
        return zip(rows, names).map { row, name in
            let share = Double(row.count) / Double(total) * 100
            let bar = String(bar: Double(row.count), of: Double(most), width: Self.barWidth)
            return name.0.paddedLeft(to: widths.0) + " … " + name.1.paddedLeft(to: widths.1) + "  "
                + bar.paddedRight(to: Self.barWidth) + Self.percent(share).paddedLeft(to: 10) + row.count.grouped.paddedLeft(to: 14)
        }
    }

    private static func rows(of recorded: [(value: Int, count: Int)], scale: [Double]) -> [Row] {
        guard let least = recorded.first?.value, let greatest = recorded.last?.value else { return [] }
        var edges = [0]
        var power = 1.0
        while edges[edges.count - 1] <= greatest {
            // Steps below a microsecond collapse into one.
            for step in scale where Int(step * power) > edges[edges.count - 1] { edges.append(Int(step * power)) }
            power *= 10
        }
        var rows = zip(edges, edges.dropFirst()).map { Row(from: $0, to: $1, count: 0) }
        rows = rows.filter { $0.to > least && $0.from <= greatest }
        var index = 0
        for (value, count) in recorded {
            while value >= rows[index].to { index += 1 }
            rows[index].count += count
        }
        return rows
    }

    private static func percent(_ share: Double) -> String {
        let hundredths = Int((share * 100).rounded())
        if hundredths == 0, share > 0 { return "<0.01 %" }
        let fraction = String(hundredths % 100)
        return "\(hundredths / 100)." + String(repeating: "0", count: 2 - fraction.count) + fraction + " %"
    }
}

/// A distribution of times from 1 µs to 60 s, with three significant digits.
struct Latencies: Sendable {
    /// The longest time in microseconds; longer times count as this.
    static let longest = 60_000_000
    /// The reported percentiles.
    static let told = [50, 90, 99, 99.9, 99.99]

    private var histogram = Histogram<UInt64>(
        lowestDiscernibleValue: 1, highestTrackableValue: UInt64(longest), numberOfSignificantValueDigits: .three)

    var count: Int { Int(histogram.totalCount) }
    var mean: Double { count == 0 ? 0 : histogram.mean }
    var shortest: Int { Int(histogram.min) }
    var max: Int { min(Int(histogram.maxRecorded), Self.longest) }
    /// All recorded values in ascending order, with their counts.
    var recorded: [(value: Int, count: Int)] { histogram.recordedValues().map { (Int($0.value), Int($0.count)) } }

    /// Records a time in microseconds.
    mutating func record(_ microseconds: UInt32) {
        histogram.record(UInt64(Swift.max(1, min(Int(microseconds), Self.longest))))
    }

    mutating func add(_ other: Latencies) { histogram.add(other.histogram) }

    /// Returns the time in microseconds that the given percentage of values does not exceed; 0 if there are no values.
    func percentile(_ percentile: Double) -> Int { count == 0 ? 0 : min(Int(histogram.valueAtPercentile(percentile)), Self.longest) }
}

extension Duration {
    /// The time in whole microseconds, within the limits of a latency.
    var latency: UInt32 {
        let (seconds, attoseconds) = components
        guard seconds < 60 else { return UInt32(Latencies.longest) }
        return seconds < 0 ? 0 : UInt32(seconds) * 1_000_000 + UInt32(Swift.max(0, attoseconds) / 1_000_000_000_000)
    }
}
