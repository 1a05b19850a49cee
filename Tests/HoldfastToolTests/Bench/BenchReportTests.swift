import Foundation
import HoldfastTerminal
import Testing

@testable import HoldfastTool

@Suite struct BenchReportTests {
    private func tally(_ latencies: [Duration], _ counts: Tally.Counts = .init()) -> Tally {
        var batch = Tally.Batch(since: .zero)
        batch.counts = counts
        for latency in latencies {
            batch.answered(after: latency)
            batch.left(after: latency / 2)
        }
        var tally = Tally()
        tally.add(batch)
        return tally
    }

    private func report(rate: Double? = nil, _ tally: Tally, connectionsEnded: Int = 0, wasStopped: Bool = false) throws -> BenchReport {
        let plan = try BenchPlan(
            connections: 2, depth: 4, kind: .text, size: 100, rate: rate, warmUp: .seconds(1), duration: .seconds(2), wait: .seconds(5))
        return BenchReport(
            url: "ws://a/", plan: plan, tally: tally, connectionsEnded: connectionsEnded, measured: .seconds(2), isCompressed: true,
            wasStopped: wasStopped)
    }

    @Test func `a clean closed loop`() throws {
        let counts = Tally.Counts(sent: 3, received: 3, receivedBytes: 300)
        let lines = try report(tally([.milliseconds(1), .milliseconds(1), .microseconds(1100)], counts)).lines(style: .plain)
        #expect(
            lines.prefix(18) == [
                "ws://a/",
                "2 connections, at most 4 in flight on each, text of 100 bytes, permessage-deflate",
                "closed loop: a reply triggers the next message, so a slow server gets fewer (see --rate)",
                "measured 2 s after 1 s of warm-up",
                "",
                "latency",
                "         p50        1 ms",
                "         p90      1.1 ms",
                "         p99      1.1 ms",
                "       p99.9      1.1 ms",
                "      p99.99      1.1 ms",
                "         max      1.1 ms",
                "",
                "throughput  2 messages/s, 150 B/s",
                "received    3 messages, 300 B",
                "sent        300 B",
                "errors      0",
                "",
            ])
        #expect(lines.count == 19 && lines[18].hasPrefix("1 ms … 1.2 ms  ████"))
    }

    @Test func `an open loop says how late messages left, and which never did`() throws {
        let lines = try report(rate: 1000, tally([.milliseconds(2)], .init(unsent: 1500)), wasStopped: true).lines(style: .plain)
        #expect(lines[2] == "open loop: 1,000 messages/s in total; latency counts from when a message was due")
        #expect(lines[3] == "measured 2 s after 1 s of warm-up, then stopped")
        #expect(lines[5] == "latency     due to reply   due to sent")
        #expect(lines[6] == "         p50        2 ms          1 ms")
        #expect(lines.contains("unsent      1,500 messages could not be sent: the rate was too high, the real latencies are longer"))
    }

    @Test func `errors are named, those that were not are not`() throws {
        let lines = try report(tally([], .init(wrong: 1, lost: 2000)), connectionsEnded: 1).lines(style: .plain)
        #expect(lines.contains("no message was answered in the time measured"))
        #expect(lines.last == "errors      1 of the wrong kind or length, 2,000 without a reply, 1 connection(s) ended early")
    }

    @Test(arguments: [Tally.Counts(wrong: 1), .init(disordered: 1), .init(lost: 1)])
    func `no error goes unsaid`(counts: Tally.Counts) throws {
        #expect(try report(tally([], counts)).lines(style: .plain).last?.hasPrefix("errors      1 ") == true)
    }

    @Test func `JSON holds the same`() throws {
        let report = try report(rate: 1000, tally([.milliseconds(2)], .init(sent: 1, received: 1, receivedBytes: 100)))
        #expect(try JSONDecoder().decode(BenchReport.self, from: Data(report.json.utf8)) == report)
        #expect(report.latency.p50 == 2000 && report.sendDelay?.max == 1000 && report.bytesReceived == 100)
        #expect(report.json.contains("\"url\" : \"ws://a/\""))
    }
}
