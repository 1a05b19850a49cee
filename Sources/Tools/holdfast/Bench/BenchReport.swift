import Foundation

/// What a benchmark found, as `--json` prints it; times of messages in microseconds.
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
    /// Messages per second asked for; nil for a closed loop.
    let rate: Double?
    let warmUpSeconds: Double
    let seconds: Double
    let wasStopped: Bool
    /// Replies in the time measured.
    let messages: Int
    let messagesPerSecond: Double
    let bytesSent: Int
    let bytesReceived: Int
    let errors: Errors
    /// Messages that were due and never left, for too many were without a reply.
    let unsent: Int
    /// From when a message was due until its reply came, of replies after the warm-up.
    let latency: Spread
    /// From when a message was due until it left; nil for a closed loop.
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

    /// This report as JSON, its keys in order.
    var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        // Nothing here fails to encode: numbers are finite, and the rest is text.
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }
}
