import Foundation

/// The line that shows, once a second, how a benchmark goes; on standard error, over itself.
struct LiveLine: Sendable {
    let style: Style

    /// Draws until the task is cancelled, and then leaves nothing behind.
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
