import NIOCore
import NIOEmbedded
import Testing

@testable import HoldfastTesting

/// The faults of a relay between two channels in memory, on a loop whose time the test moves.
@Suite final class RelayFaultsTests: RelayPair {
    private func up(_ text: String) throws { try near.writeInbound(ByteBuffer(string: text)) }
    private func down(_ text: String) throws { try far.writeInbound(ByteBuffer(string: text)) }
    /// All bytes that were written to this channel so far.
    private func passed(_ channel: EmbeddedChannel) throws -> String {
        var all = ""
        while let bytes = try channel.readOutbound(as: ByteBuffer.self) { all += String(buffer: bytes) }
        return all
    }
    private func swallow(_ directions: LinkDirections) {
        conditions.change { $0.swallowed = directions }
        loop.run()
    }

    // MARK: Throttle

    @Test func `a throttle limits the bytes per second in its direction and delivers all of them`() throws {
        conditions.throttle(.up, to: 1000)
        let text = String((0..<1000).map { "\($0 % 10)".first ?? " " })
        try up(text)
        try down(text)
        #expect(try passed(near) == text)
        var all = try passed(far)
        #expect(all.count <= 60)
        for elapsed in 1...100 {
            loop.advanceTime(by: .milliseconds(10))
            all += try passed(far)
            #expect((elapsed * 10 - 10...elapsed * 10 + 60).contains(min(all.count, 990)))
        }
        #expect(all == text)
    }

    @Test func `lifting a throttle releases what it held back`() throws {
        conditions.throttle(.both, to: 1)
        try up("hello")
        #expect(try passed(far) == "h")
        conditions.throttle(.both, to: nil)
        loop.run()
        #expect(try passed(far) == "ello")
    }

    @Test func `a faster throttle takes effect at once`() throws {
        conditions.throttle(.both, to: 1)
        try up("hello")
        conditions.throttle(.both, to: 100)
        loop.run()
        loop.advanceTime(by: .milliseconds(50))
        #expect(try passed(far) == "hello")
    }

    @Test func `a sender that is faster than the throttle is no longer read`() throws {
        conditions.throttle(.both, to: 1000)
        let chunk = String(repeating: "x", count: 64 * 1024)
        for _ in 1...5 { try up(chunk) }
        let reads = nearCalls.reads
        loop.advanceTime(by: .seconds(1))
        #expect(nearCalls.reads == reads, "more than 256 KiB wait, so the relay stops reading")
        loop.advanceTime(by: .seconds(65))
        #expect(nearCalls.reads > reads)
    }

    @Test func `many small pieces also stop the reading`() throws {
        conditions.throttle(.both, to: 1)
        for _ in 1...4100 { try up("x") }
        let reads = nearCalls.reads
        for _ in 1...100 { try up("x") }
        #expect(nearCalls.reads == reads)
    }

    // MARK: Delay

    @Test func `each piece gets a delay within the range, and the order is kept`() throws {
        conditions.change { $0.delay = .milliseconds(20) ... .milliseconds(80) }
        var (arrivals, sent) = ([String](), 0)
        for _ in 0..<50 {
            try up("\(sent) ")
            sent += 1
            loop.advanceTime(by: .milliseconds(1))
            arrivals += try passed(far).split(separator: " ").map(String.init)
        }
        #expect(arrivals.count <= 30)
        loop.advanceTime(by: .milliseconds(79))
        arrivals += try passed(far).split(separator: " ").map(String.init)
        #expect(arrivals == (0..<50).map(String.init))
    }

    @Test func `the delays of the pieces differ and depend on the seed`() {
        let range = Duration.milliseconds(20) ... .milliseconds(80)
        conditions.change { $0.delay = range }
        let some = (0..<100).map { _ in conditions.drawDelay() }
        #expect(some.allSatisfy(range.contains) && Set(some).count > 90)
        conditions.reseed(1)
        #expect((0..<100).map { _ in conditions.drawDelay() } == some)
    }

    // MARK: Half-open connections

    @Test func `swallowed bytes are lost, in that direction only`() throws {
        swallow(.up)
        try up("lost")
        try down("there")
        #expect(try passed(far) == "")
        #expect(try passed(near) == "there")
        #expect((conditions.carried(.up), conditions.carried(.down)) == (0, 5))
    }

    @Test func `a link that swallows keeps reading`() throws {
        swallow(.both)
        let chunk = String(repeating: "x", count: 64 * 1024)
        for _ in 1...9 { try up(chunk) }
        let reads = nearCalls.reads
        try up(chunk)
        #expect(nearCalls.reads > reads)
    }

    @Test func `a direction that lost bytes stays silent after the fault, and the other direction continues`() throws {
        swallow(.both)
        try up("lost")
        swallow([])
        try up("also lost")
        try down("heard")
        #expect(try passed(far) == "")
        #expect(try passed(near) == "heard")
    }

    @Test func `a swallowing link hides the end of a connection until it stops swallowing`() throws {
        swallow(.up)
        near.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        near.close(promise: nil)
        loop.run()
        #expect(farCalls.closes.isEmpty)
        try down("into the void")
        let reads = farCalls.reads
        swallow([])
        #expect(farCalls.closes == [.all])
        #expect(farCalls.reads >= reads)
    }

    @Test func `a side whose peer is gone is still read while the link swallows`() throws {
        swallow(.both)
        near.close(promise: nil)
        loop.run()
        let reads = farCalls.reads
        try down("into the void")
        #expect(farCalls.reads > reads && farCalls.closes.isEmpty)
    }

    // MARK: Byte limits

    @Test func `a connection breaks after exactly the given number of bytes, counted in both directions together`() throws {
        conditions.limit(10...10, .fin)
        loop.run()
        try up("1234")
        try down("abcd")
        #expect(farCalls.closes.isEmpty && nearCalls.closes.isEmpty)
        try up("5678")
        loop.run()
        #expect(try passed(far) == "123456")
        #expect(try passed(near) == "abcd")
        #expect(farCalls.closes == [.all] && nearCalls.closes == [.all])
    }

    @Test func `on an open connection the limit counts from when it was set, and lifting removes it`() throws {
        try up("long before")
        conditions.limit(3...3, .fin)
        loop.run()
        try up("12")
        conditions.limit(nil, .fin)
        loop.run()
        try up("345")
        conditions.limit(1...1, .rst)
        try up("6")
        loop.run()
        #expect(try passed(far) == "long before123456")
        #expect(farCalls.closes == [.all])
    }
}
