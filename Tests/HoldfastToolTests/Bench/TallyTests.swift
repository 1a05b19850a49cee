import Testing

@testable import HoldfastTool

@Suite struct TallyTests {
    @Test func `a batch is told when it is large or old`() {
        var batch = Tally.Batch(since: .seconds(1))
        #expect(!batch.isDue(at: .milliseconds(1499)))
        #expect(batch.isDue(at: .milliseconds(1500)))
        for _ in 0..<255 { batch.answered(after: .milliseconds(1)) }
        #expect(!batch.isDue(at: .seconds(1)))
        batch.answered(after: .milliseconds(1))
        #expect(batch.isDue(at: .seconds(1)))
    }

    @Test func `tallies add up`() {
        var batch = Tally.Batch(since: .zero)
        batch.counts = .init(sent: 1, received: 2, receivedBytes: 3, wrong: 4, disordered: 5, lost: 6, unsent: 7)
        batch.answered(after: .milliseconds(1))
        batch.left(after: .microseconds(10))
        var tally = Tally()
        tally.add(batch)
        var total = tally
        total.add(tally)
        #expect(total.counts == .init(sent: 2, received: 4, receivedBytes: 6, wrong: 8, disordered: 10, lost: 12, unsent: 14))
        #expect(total.counts.errors == 30)
        #expect(total.latencies.count == 2 && total.latencies.max == 1000)
        #expect(total.delays.count == 2 && total.delays.max == 10)
    }

    @Test func `the board tells what is new once, and everything in the end`() async {
        let board = Scoreboard()
        var batch = Tally.Batch(since: .zero)
        batch.counts.wrong = 1
        batch.answered(after: .milliseconds(1))
        await board.add(batch)
        #expect(await board.takeRecent().recent.latencies.count == 1)
        #expect(await board.takeRecent().recent.latencies.count == 0)
        await board.add(batch)
        let second = await board.takeRecent()
        #expect(second.recent.counts.wrong == 1 && second.errors == 2)
        await board.add(batch)
        #expect(await board.total().latencies.count == 3)
    }
}
