import MachineCore
import QuotesCore
import Testing

/// The messages of a server to one client.
@Suite struct FeedTests {
    private var table = QuoteTable("SAIL", "BANK.1", "BANK.2")

    /// A feed that has sent all its pending messages.
    private func feed(_ patterns: String..., rate: Int64? = nil) -> Feed {
        var feed = Feed(of: table)
        feed.receive(.subscribe(id: 1, symbols: patterns, rate: rate))
        while feed.next(from: table, at: .start) != nil {}
        return feed
    }

    @Test func `a feed sends the welcome first, and once`() {
        var feed = Feed(of: QuoteTable("SAIL", market: 9))
        feed.receive(.unsubscribe(id: 1))
        #expect(feed.next(from: table, at: .start) == .welcome(.init(market: 9, symbols: 1)))
        #expect(feed.next(from: table, at: .start)?.refusal?.code == .unknownSubscription)
        #expect(feed.next(from: table, at: .start) == nil)
    }

    @Test func `a subscription is answered with all its symbols`() {
        var feed = Feed(of: table)
        feed.receive(.subscribe(id: 4, symbols: ["BANK.?"], rate: nil))
        _ = feed.next(from: table, at: .start)
        let state = QuoteState(version: 1, figures: .of(100))
        #expect(
            feed.next(from: table, at: .start)
                == .snapshot(
                    .init(
                        id: 4, sequence: 1, round: 0, isLast: true,
                        quotes: [.init(symbol: 1, name: "BANK.1", state: state), .init(symbol: 2, name: "BANK.2", state: state)])))
    }

    @Test func `a subscription without symbols gets an empty snapshot with an end`() throws {
        var feed = Feed(of: table)
        feed.receive(.subscribe(id: 1, symbols: ["X"], rate: nil))
        _ = feed.next(from: table, at: .start)
        let part = try #require(feed.next(from: table, at: .start)?.part)
        #expect(part.isLast && part.quotes.isEmpty && part.sequence == 1)
    }

    @Test func `a snapshot of many patterns comes in parts, even if hardly a symbol matches`() throws {
        let table = QuoteTable(market: 1, symbols: (0..<450).map { ("S\($0)", .of(100)) })
        var feed = Feed(of: table)
        feed.receive(.subscribe(id: 1, symbols: (1...99).map { "X\($0)" } + ["S449"], rate: nil))
        _ = feed.next(from: table, at: .start)
        for sequence in 1...2 {
            let part = try #require(feed.next(from: table, at: .start)?.part)
            #expect(part.quotes.isEmpty && !part.isLast && part.sequence == sequence)
        }
        let last = try #require(feed.next(from: table, at: .start)?.part)
        #expect(last.quotes.map(\.name) == ["S449"] && last.isLast)
        #expect(feed.next(from: table, at: .start) == nil)
    }

    @Test func `a long snapshot comes in parts, and sent symbols may tick before the rest has come`() throws {
        var table = QuoteTable(market: 1, symbols: (0..<450).map { ("S\($0)", .of(100)) })
        var feed = Feed(of: table)
        feed.receive(.subscribe(id: 1, symbols: ["*"], rate: nil))
        _ = feed.next(from: table, at: .start)
        let first = try #require(feed.next(from: table, at: .start)?.part)
        #expect(first.quotes.count == 200 && !first.isLast)
        for symbol in [0, 300] {
            table.trade(symbol, at: 101)
            feed.note(changed: symbol)
        }
        #expect(try #require(feed.next(from: table, at: .start)?.part).quotes.count == 200)
        let last = try #require(feed.next(from: table, at: .start)?.part)
        #expect(last.quotes.count == 50 && last.isLast && last.sequence == 3)
        let ticks = try #require(feed.next(from: table, at: .start)?.ticks)
        #expect(ticks.ticks.map(\.symbol) == [0], "the other change came in its snapshot")
        #expect(ticks.sequence == 4)
    }

    @Test func `a change is sent as differences to the last sent quote`() throws {
        var table = table
        var feed = feed("SAIL")
        table.trade(0, at: 105)
        feed.note(changed: 0)
        let first = try #require(feed.next(from: table, at: .start)?.ticks)
        #expect(
            first
                == .init(
                    sequence: 2,
                    ticks: [
                        .init(symbol: 0, version: 2, fields: [.bid, .ask, .last], differences: QuoteFigures(bid: 5, ask: 5, last: 5))
                    ]))
        table.update(0, to: QuoteFigures(bid: 104, ask: 106, last: 105, volume: 17, time: 1000))
        feed.note(changed: 0)
        let second = try #require(feed.next(from: table, at: .start)?.ticks)
        #expect(second.ticks == [.init(symbol: 0, version: 3, fields: .volume, differences: QuoteFigures(volume: 7))])
    }

    @Test func `a slow client gets each symbol's newest quote in the order of first changes, and the count of skipped ones`() throws {
        var table = table
        var feed = feed("*")
        for (symbol, price) in [(2, 101), (0, 101), (2, 102), (2, 103), (0, 100)] as [(Int, Int64)] {
            table.trade(symbol, at: price)
            feed.note(changed: symbol)
        }
        let ticks = try #require(feed.next(from: table, at: .start)?.ticks)
        #expect(ticks.ticks.map(\.symbol) == [2, 0])
        #expect(ticks.ticks.map(\.version) == [4, 3])
        #expect(ticks.ticks[1].fields == [], "the quote changed and changed back")
        #expect(ticks.conflated == 3)
        #expect(feed.next(from: table, at: .start) == nil)
        #expect(feed.counts.ticks == 2 && feed.counts.conflated == 3)
    }

    @Test func `a symbol without a subscription costs nothing`() {
        var table = table
        var feed = feed("SAIL")
        table.trade(1, at: 101)
        feed.note(changed: 1)
        #expect(feed.next(from: table, at: .start) == nil)
        feed.receive(.unsubscribe(id: 1))
        #expect(feed.deadline == nil)
        table.trade(0, at: 101)
        feed.note(changed: 0)
        #expect(feed.next(from: table, at: .start) == nil)
    }

    @Test func `a change before an unsubscribe is not sent after it`() {
        var table = table
        var feed = feed("SAIL")
        table.trade(0, at: 101)
        feed.note(changed: 0)
        feed.receive(.unsubscribe(id: 1))
        #expect(feed.next(from: table, at: .start) == nil)
    }

    @Test func `a symbol of two subscriptions stays until the second has gone, and ticks once`() throws {
        var table = table
        var feed = feed("SAIL")
        feed.receive(.subscribe(id: 2, symbols: ["S*"], rate: nil))
        #expect(try #require(feed.next(from: table, at: .start)?.part).quotes.count == 1)
        feed.receive(.unsubscribe(id: 1))
        table.trade(0, at: 101)
        feed.note(changed: 0)
        #expect(try #require(feed.next(from: table, at: .start)?.ticks).ticks.count == 1)
    }

    @Test func `a subscription replaces an earlier one with the same ID`() throws {
        var table = table
        var feed = feed("SAIL")
        feed.receive(.subscribe(id: 1, symbols: ["BANK.1"], rate: nil))
        #expect(try #require(feed.next(from: table, at: .start)?.part).quotes.map(\.name) == ["BANK.1"])
        table.trade(0, at: 101)
        feed.note(changed: 0)
        #expect(feed.next(from: table, at: .start) == nil)
    }

    @Test func `with a rate the first change is sent at once, and the others together after the interval`() throws {
        var table = table
        var feed = feed("*", rate: 10)
        table.trade(0, at: 101)
        feed.note(changed: 0)
        #expect(try #require(feed.next(from: table, at: .start)?.ticks).ticks.count == 1)
        for symbol in [1, 0, 2] {
            table.trade(symbol, at: 102)
            feed.note(changed: symbol)
        }
        #expect(feed.next(from: table, at: Moment(.milliseconds(99))) == nil)
        #expect(feed.deadline == Moment(.milliseconds(100)))
        #expect(try #require(feed.next(from: table, at: Moment(.milliseconds(100)))?.ticks).ticks.map(\.symbol) == [1, 0, 2])
        feed.receive(.subscribe(id: 9, symbols: ["X"], rate: 0))
        table.trade(0, at: 103)
        feed.note(changed: 0)
        #expect(feed.next(from: table, at: Moment(.milliseconds(100)))?.part != nil)
        #expect(feed.next(from: table, at: Moment(.milliseconds(100)))?.ticks != nil, "a rate of 0 removes the limit")
    }

    @Test func `an update of a feed with a rate may take several messages`() throws {
        var table = QuoteTable(market: 1, symbols: (0..<1500).map { ("S\($0)", .of(100)) })
        var feed = Feed(of: table)
        feed.receive(.subscribe(id: 1, symbols: ["*"], rate: 1))
        while feed.next(from: table, at: .start) != nil {}
        for symbol in 0..<1500 {
            table.trade(symbol, at: 101)
            feed.note(changed: symbol)
        }
        let counts = [feed.next(from: table, at: .start)?.ticks?.ticks.count, feed.next(from: table, at: .start)?.ticks?.ticks.count]
        #expect(counts == [1000, 500])
        table.trade(0, at: 102)
        feed.note(changed: 0)
        #expect(feed.next(from: table, at: .start) == nil)
    }

    @Test func `a client with a subscription gets a message at least every five seconds`() throws {
        var feed = feed("SAIL")
        let beat = Moment(.seconds(5))
        #expect(feed.deadline == beat)
        #expect(feed.next(from: table, at: Moment(.milliseconds(4999))) == nil)
        #expect(feed.next(from: table, at: beat)?.ticks == .init(sequence: 2, ticks: []))
        #expect(feed.next(from: table, at: beat) == nil && feed.deadline == Moment(.seconds(10)))
        feed.receive(.unsubscribe(id: 1))
        #expect(feed.deadline == nil && feed.next(from: table, at: Moment(.seconds(20))) == nil)
    }

    @Test func `a resync restarts every snapshot, and ticks wait for it`() throws {
        var table = table
        var feed = feed("SAIL")
        feed.receive(.subscribe(id: 2, symbols: ["BANK.1"], rate: nil))
        table.trade(0, at: 101)
        feed.note(changed: 0)
        feed.receive(.resync(round: 1))
        table.trade(1, at: 101)
        feed.note(changed: 1)
        let parts = [feed.next(from: table, at: .start)?.part, feed.next(from: table, at: .start)?.part]
        #expect(parts.map { $0?.id } == [1, 2])
        #expect(parts.allSatisfy { $0?.round == 1 && $0?.quotes.first?.state.version == 2 })
        #expect(feed.next(from: table, at: .start) == nil)
        feed.receive(.resync(round: 1))
        #expect(feed.next(from: table, at: .start)?.refusal?.code == .badRequest, "a round that is not greater than the last")
    }

    @Test(
        arguments: [
            (.subscribe(id: -1, symbols: ["A"], rate: nil), .badRequest), (.subscribe(id: 1 << 32, symbols: ["A"], rate: nil), .badRequest),
            (.subscribe(id: 2, symbols: [], rate: nil), .badRequest), (.subscribe(id: 2, symbols: ["A"], rate: 1001), .badRequest),
            (.subscribe(id: 2, symbols: ["A"], rate: -1), .badRequest), (.subscribe(id: 2, symbols: ["A", ""], rate: nil), .badPattern),
            (.subscribe(id: 2, symbols: Array(repeating: "A", count: 101), rate: nil), .tooManyPatterns),
            (.resync(round: 0), .badRequest), (.unsubscribe(id: 2), .unknownSubscription),
        ] as [(QuotesRequest, QuotesRefusalCode)])
    func `an invalid request is refused, and changes nothing`(request: QuotesRequest, code: QuotesRefusalCode) throws {
        var feed = feed("SAIL")
        feed.receive(request)
        #expect(try #require(feed.next(from: table, at: .start)?.refusal).code == code)
        #expect(feed.next(from: table, at: .start) == nil && !feed.isAbused)
    }

    @Test func `there are at most 64 subscriptions, and an ended one frees its place`() {
        var feed = feed("SAIL")
        for id in 2...64 { feed.receive(.subscribe(id: Int64(id), symbols: ["BANK.1"], rate: nil)) }
        feed.receive(.subscribe(id: 65, symbols: ["BANK.2"], rate: nil))
        #expect(feed.next(from: table, at: .start)?.refusal?.code == .tooManySubscriptions)
        feed.receive(.unsubscribe(id: 7))
        feed.receive(.subscribe(id: 65, symbols: ["BANK.2"], rate: nil))
        var ids: [Int64] = []
        while let part = feed.next(from: table, at: .start)?.part { ids.append(part.id) }
        #expect(ids == Array(2...6) + Array(8...65))
    }

    @Test func `a client that sends invalid requests and does not read the refusals is closed`() {
        var feed = feed("SAIL")
        for _ in 0..<16 { feed.receiveMalformed("no map") }
        #expect(!feed.isAbused)
        feed.receiveMalformed("no map")
        #expect(feed.isAbused)
    }
}
