import Foundation
import HoldfastTerminal

/// The counts of one connection or of all.
struct Tally: Sendable {
    /// The counts without latencies; messages and bytes are of the measured time, errors are of the whole run.
    struct Counts: Hashable, Sendable {
        var sent = 0
        var received = 0
        var receivedBytes = 0
        /// Replies of a wrong kind, length or content.
        var wrong = 0
        /// Echoes that are out of order, or of no message.
        var disordered = 0
        /// Messages without a reply.
        var lost = 0
        /// Messages that were due and could not be sent.
        var unsent = 0

        var errors: Int { wrong + disordered + lost }

        static func += (counts: inout Counts, other: Counts) {
            counts.sent += other.sent
            counts.received += other.received
            counts.receivedBytes += other.receivedBytes
            counts.wrong += other.wrong
            counts.disordered += other.disordered
            counts.lost += other.lost
            counts.unsent += other.unsent
        }
    }

    /// The counts of one connection since its last report: cheap to fill, and added to the total as a whole.
    struct Batch: Hashable, Sendable {
        private static let capacity = 256

        var counts = Counts()
        /// The times from when a message was due until its reply arrived, in microseconds.
        private(set) var latencies: [UInt32] = []
        /// The times from when a message was due until it was sent, in microseconds.
        private(set) var delays: [UInt32] = []
        private let since: Duration

        init(since: Duration) { self.since = since }

        mutating func answered(after time: Duration) { latencies.append(time.latency) }
        mutating func left(after delay: Duration) { delays.append(delay.latency) }

        /// Returns whether to report the batch now: it is large, or half a second old.
        func isDue(at now: Duration) -> Bool {
            latencies.count >= Self.capacity || delays.count >= Self.capacity || now - since >= .milliseconds(500)
        }
    }

    var counts = Counts()
    private(set) var latencies = Latencies()
    private(set) var delays = Latencies()

    mutating func add(_ batch: Batch) {
        counts += batch.counts
        for latency in batch.latencies { latencies.record(latency) }
        for delay in batch.delays { delays.record(delay) }
    }

    mutating func add(_ other: Tally) {
        counts += other.counts
        latencies.add(other.latencies)
        delays.add(other.delays)
    }
}

/// A progress line for a benchmark, rewritten on standard error once per second.
struct LiveLine: Sendable {
    let style: Style

    /// Draws the line until the task is cancelled, and then erases it.
    func follow(_ board: Scoreboard, _ plan: BenchPlan, _ start: ContinuousClock.Instant) async {
        var last = Duration.zero
        while (try? await Task.sleep(until: start + last + .seconds(1), clock: .continuous)) != nil {
            let now = start.duration(to: .now)
            let (recent, errors) = await board.takeRecent()
            draw(Self.text(recent: recent, errors: errors, over: now - last, at: now, plan))
            last = now
        }
        draw("")
    }

    private func draw(_ text: String) { StandardOutput.write("\r\u{1B}[K" + style.paint(text, .dim), to: STDERR_FILENO) }

    static func text(recent: Tally, errors: Int, over span: Duration, at now: Duration, _ plan: BenchPlan) -> String {
        let seconds = Int((now / .seconds(1)).rounded())
        let problems = errors.counted("error")
        if now - span < plan.warmUp { return "\(seconds) s  warming up  \(problems)" }
        if recent.latencies.count == 0 { return "\(seconds) s  no replies  \(problems)" }
        let rate = Int(Double(recent.counts.received) / (span / .seconds(1)))
        let percentiles = "p50 \(recent.latencies.percentile(50).latencyPhrase)  p99 \(recent.latencies.percentile(99).latencyPhrase)"
        return "\(seconds) s  \(rate.grouped) messages/s  \(percentiles)  \(problems)"
    }
}
