import Holdfast
import HoldfastQuotes
import HoldfastServer
import HoldfastTesting
import QuotesCore
import Testing

/// A real server and a real socket, with a faulty link between them.
@Suite(.timeLimit(.minutes(5))) struct QuoteFaultTests {
    /// Trades every two milliseconds until something is reached; only the suite's time limit ends it if it is never reached.
    private func trade(_ market: QuoteMarket, until isReached: () -> Bool) async throws {
        while true {
            market.trade()
            if isReached() { return }
            try await Task.sleep(for: .milliseconds(2))
        }
    }

    /// Runs a market server behind a link, with a feed that follows all symbols.
    private func follow(
        _ market: QuoteMarket, _ encoding: QuotesEncoding = .messagePack, rate: Int? = nil, hasManualClock: Bool = false,
        _ body: (QuoteFeed, FaultyLink) async throws -> Void
    ) async throws {
        try await market.server.withRunning { server in
            let link = try await FaultyLink.start(to: server.port)
            let socket = WebSocket("ws://127.0.0.1:\(link.port)/feed") { options in
                QuoteFeed.prepare(&options, [encoding])
                (options.connection.timeouts.connect, options.connection.timeouts.handshake) = (.seconds(60), .seconds(60))
                // Without compression the sizes of messages are known.
                options.connection.compression = nil
                // A busy machine may not answer for a while. The link is not to blame for that.
                options.connection.timeouts.ping = .seconds(300)
                options.reconnect.backoff = Backoff(base: .milliseconds(20), cap: .milliseconds(200))
                options.reconnect.spacing = .zero
            }
            let feed =
                hasManualClock
                ? QuoteFeed(over: socket, rate: rate, clock: ManualClock()) : QuoteFeed(over: socket, rate: rate)
            try feed.subscribe("S*")
            try await body(feed, link)
            await feed.close()
            try await link.stop()
        }
    }

    @Test(arguments: QuotesEncoding.allCases) func `the client's table becomes equal to the market`(encoding: QuotesEncoding) async throws {
        let market = QuoteMarket(symbols: 450)
        try await follow(market, encoding) { feed, _ in
            for _ in 1...20 {
                market.trade()
                await Task.yield()
            }
            await feed.wait(until: market.isShown)
            #expect(feed.counts.garbage == 0 && feed.counts.gaps == 0)
        }
    }

    @Test func `a stalled link makes the server conflate, and the client ends with the newest quotes`() async throws {
        let market = QuoteMarket(symbols: 300)
        // The time of the stall depends on the machine.
        try await follow(market, .json, hasManualClock: true) { feed, link in
            await feed.wait(until: market.isShown)
            link.stall()
            var trades = 0
            // The system's buffers take the first messages. After that no message is made that cannot be sent.
            while market.conflated == 0 || trades < 500, trades < 100_000 {
                market.trade()
                trades += 1
                if trades % 10 == 0 { try await Task.sleep(for: .milliseconds(1)) }
            }
            // A list of symbols waits. Its length does not grow with the changes.
            for _ in 1...1000 { market.trade() }
            link.resume()
            await feed.wait(until: market.isShown)
            let counts = feed.counts
            #expect(counts.conflated >= 300 * 900, "the trades of the last round become one tick of each symbol")
            #expect(counts.ticks + counts.conflated >= UInt64(300 * trades))
            #expect(counts.gaps == 0 && counts.garbage == 0 && counts.connections == 1)
        }
    }

    @Test func `with a rate limit the server sends no faster, and the last change arrives`() async throws {
        let market = QuoteMarket(symbols: 3)
        try await follow(market, rate: 5) { feed, _ in
            await feed.wait(until: market.isShown)
            let start = ContinuousClock.now
            for _ in 1...400 {
                market.trade()
                try await Task.sleep(for: .milliseconds(1))
            }
            await feed.wait(until: market.isShown)
            let seconds = (ContinuousClock.now - start) / .seconds(1)
            // One at once, and then five a second.
            #expect(Double(feed.counts.ticks) <= 3 * (2 + 5 * seconds))
            #expect(feed.counts.conflated + feed.counts.ticks == 1200)
        }
    }

    @Test func `a client recovers from cuts in the middle of snapshots and ticks`() async throws {
        let market = QuoteMarket(symbols: 1500)
        try await follow(market) { feed, link in
            // A snapshot has more than 30,000 bytes, so no connection completes one.
            link.cut(after: 8_000...20_000)
            try await trade(market) { feed.counts.connections >= 5 }
            #expect(!feed.isCurrent)
            #expect(feed.counts.quotes > 0)
            // Now a connection completes its snapshot, and then gets only some ticks.
            link.cut(after: 150_000...400_000)
            try await trade(market) { feed.counts.connections >= 9 }
            link.cut(after: nil)
            await feed.wait(until: market.isShown)
            #expect(feed.counts.garbage == 0)
        }
    }

    @Test func `a client recovers from messages that the server drops on purpose`() async throws {
        let market = QuoteMarket(symbols: 450) { $0 % 7 == 0 ? .dropped : .sent }
        try await follow(market) { feed, _ in
            try await trade(market) { feed.counts.gaps >= 5 }
            await feed.wait(until: market.isShown)
            #expect(feed.counts.resyncs >= 2 && feed.counts.garbage == 0 && feed.counts.connections == 1)
        }
    }

    @Test(arguments: [QuotesEncoding.json, .messagePack]) func `an invalid message causes a resync, and too many close the connection`(
        encoding: QuotesEncoding
    ) async throws {
        let market = QuoteMarket(symbols: 250) { $0 % 11 == 0 ? .garbage : .sent }
        try await follow(market, encoding) { feed, _ in
            try await trade(market) { feed.counts.connections >= 2 && feed.counts.garbage >= 4 }
            #expect(feed.complaint == "too much of it could not be trusted")
            await feed.wait(until: market.isShown)
        }
    }

    @Test func `a reader that takes five milliseconds for each update sees the newest quotes, and delays no one`() async throws {
        let market = QuoteMarket(symbols: 100)
        try await follow(market) { feed, _ in
            await feed.wait(until: market.isShown)
            let slow = Task {
                var (versions, count) = ([String: Int64](), 0)
                for await update in feed.updates() {
                    count += 1
                    for quote in update.quotes {
                        #expect(quote.version >= versions[quote.symbol, default: 0], "a symbol's version never goes back")
                        versions[quote.symbol] = quote.version
                    }
                    if versions.count == 100, versions.values.allSatisfy({ $0 == 301 }) { break }
                    try? await Task.sleep(for: .milliseconds(5))
                }
                return count
            }
            for _ in 1...300 {
                market.trade()
                await Task.yield()
            }
            await feed.wait(until: market.isShown)
            // It ends only when it has seen the last version of every symbol.
            #expect(await slow.value <= 302)
        }
    }
}
