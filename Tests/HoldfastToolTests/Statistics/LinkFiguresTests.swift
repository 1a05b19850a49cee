import Holdfast
import Testing

@testable import HoldfastTool

@Suite struct LinkFiguresTests {
    private var figures: LinkFigures {
        var pongs = DurationHistogram()
        for milliseconds in 1...4 { pongs.record(.milliseconds(milliseconds)) }
        let traffic = LinkTraffic(
            bytesIn: 2048, bytesOut: 4096, messagesIn: 20, messagesOut: 3000, payloadIn: 6144, payloadOut: 6144)
        return LinkFigures(connections: 2, losses: 1, traffic: traffic, roundTrips: RoundTrips(pongs))
    }

    @Test func `the line has what came and went since the last one, each second`() {
        let last = LinkFigures(traffic: LinkTraffic(bytesIn: 1024, messagesIn: 10, messagesOut: 1000))
        let text = figures.liveText(since: last, over: .seconds(2), at: .seconds(61))
        #expect(
            text == "61 s  2 connections  out 1,000 messages/s 2 KiB/s  in 5 messages/s 512 B/s  rtt p50 2.02 ms p99 4 ms")
    }

    @Test func `without pongs and losses there is no word of them`() {
        let text = LinkFigures().liveText(since: LinkFigures(), over: .seconds(1), at: .seconds(1))
        #expect(text == "1 s  out 0 messages/s 0 B/s  in 0 messages/s 0 B/s")
    }

    @Test func `the summary has it all`() {
        #expect(
            figures.summary(after: .milliseconds(12_340)) == [
                "time        12.3 s, 2 connections, 1 lost",
                "sent        3,000 messages, 6 KiB, 4 KiB on the wire",
                "received    20 messages, 6 KiB, 2 KiB on the wire",
                "one byte on the wire carried 2.00 bytes of messages",
                "round trip  4 pings: p50 2.02 ms, p95 4 ms, p99 4 ms, longest 4 ms",
            ])
    }

    @Test func `a link that carried nothing has no ratio and no round trip`() {
        #expect(LinkFigures().summary(after: .seconds(1)).count == 3)
    }
}
