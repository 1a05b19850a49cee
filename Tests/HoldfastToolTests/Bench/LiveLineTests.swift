import Testing

@testable import HoldfastTool

@Suite struct LiveLineTests {
    private func text(_ recent: Tally, at now: Duration, errors: Int = 0) throws -> String {
        let plan = try BenchPlan(
            connections: 1, depth: nil, kind: .binary, size: 32, rate: nil, warmUp: .milliseconds(1500), duration: .seconds(9), wait: .zero)
        return LiveLine.text(recent: recent, errors: errors, over: .seconds(1), at: now, plan)
    }

    @Test func `a second that began in the warm-up has no figures`() throws {
        #expect(try text(Tally(), at: .seconds(2)) == "2 s  warming up  0 errors")
    }

    @Test func `a second has its rate, its percentiles and all errors`() throws {
        var batch = Tally.Batch(since: .zero)
        batch.counts.received = 12_345
        for _ in 0..<100 { batch.answered(after: .microseconds(42)) }
        batch.answered(after: .milliseconds(5))
        var recent = Tally()
        recent.add(batch)
        #expect(try text(recent, at: .seconds(3), errors: 1) == "3 s  12,345 messages/s  p50 42 µs  p99 42 µs  1 error")
    }

    @Test func `silence is said`() throws {
        #expect(try text(Tally(), at: .milliseconds(3004), errors: 2) == "3 s  no replies  2 errors")
    }
}
