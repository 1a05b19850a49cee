import Holdfast
import HoldfastQuotes
import HoldfastTesting
import ProtocolStage
import QuotesCore
import Testing

/// An app's view of a quotes server.
@Suite(.timeLimit(.minutes(2))) struct QuoteFeedTests {
    @Test(arguments: QuotesEncoding.allCases) func `a feed shows the server's quotes in every encoding`(encoding: QuotesEncoding)
        async throws
    {
        let (stage, peer) = try await QuoteStage.following(encoding)
        try await peer.tick(2, 1, 4, by: -5)
        await stage.until { $0.counts.ticks == 1 }
        #expect(stage.feed.prices == ["SAIL 100", "BANK 195"])
        #expect(stage.feed["BANK"]?.version == 4 && stage.feed["NONE"] == nil)
        let counts = stage.feed.counts
        #expect(counts.messages == 2 && counts.quotes == 2 && counts.conflated == 2 && counts.connections == 1 && counts.garbage == 0)
    }

    @Test func `a feed sends its rate and later subscriptions`() async throws {
        let stage = QuoteStage(rate: 30)
        let peer = try await stage.accept()
        await stage.until { $0.counts.connections == 1 }
        let subscription = try stage.feed.subscribe("SAIL", "B*")
        #expect(try await peer.request() == .subscribe(id: 1, symbols: ["SAIL", "B*"], rate: 30))
        try await peer.snapshot(1, [("SAIL", 1, 100)])
        await stage.until { $0.isCurrent }
        stage.feed.unsubscribe(subscription)
        #expect(try await peer.request() == .unsubscribe(id: 1))
        #expect(stage.feed.quotes.isEmpty)
    }

    @Test func `a pattern that matches no symbol is refused locally, and a refusal of the server is reported`() async throws {
        let stage = QuoteStage()
        #expect(throws: InvalidSymbolPattern(pattern: "A B")) { try stage.feed.subscribe("SAIL", "A B") }
        #expect(throws: InvalidSymbolPattern(pattern: nil)) { try stage.feed.subscribe(to: []) }
        let subscription = try stage.feed.subscribe("SAIL")
        let peer = try await stage.accept()
        _ = try await peer.request()
        #expect(stage.feed.refusal(of: subscription) == nil)
        try await peer.send(.refusal(.init(id: 1, code: .tooManySubscriptions, message: "no")))
        await stage.until { $0.refusal(of: subscription) != nil }
        #expect(stage.feed.refusal(of: subscription)?.code == .tooManySubscriptions)
        await stage.until { $0.isCurrent }
    }

    @Test func `after a cut within a snapshot all is requested again, and quotes are stale until they arrive`() async throws {
        let stage = QuoteStage()
        try stage.feed.subscribe("*")
        let first = try await stage.accept()
        _ = try await first.request()
        try await first.snapshot(1, [("SAIL", 1, 100)], isLast: false)
        await stage.until { $0.prices == ["SAIL 100"] }
        #expect(!stage.feed.isCurrent)
        first.transport.cut()
        await stage.until { $0.prices == ["(SAIL 100)"] }
        let second = try await stage.acceptAgain()
        #expect(try await second.request() == .subscribe(id: 1, symbols: ["*"], rate: nil))
        // Another server of this market has other numbers for the same symbols.
        try await second.snapshot(1, [("BANK", 1, 200)], isLast: false)
        await stage.until { $0.prices == ["(SAIL 100)", "BANK 200"] }
        #expect(!stage.feed.isCurrent)
        try await second.send(
            .snapshot(
                .init(
                    id: 1, sequence: 2, round: 0, isLast: true,
                    quotes: [.init(symbol: 1, name: "SAIL", state: QuoteState(version: 6, figures: QuoteFigures(last: 106)))])))
        await stage.until { $0.isCurrent }
        #expect(stage.feed.prices == ["SAIL 106", "BANK 200"])
    }

    @Test func `after a gap all snapshots are requested again on the same connection`() async throws {
        let (stage, peer) = try await QuoteStage.following()
        try await peer.tick(3, 0, 3, by: 1)
        #expect(try await peer.request() == .resync(round: 1))
        #expect(stage.feed.prices == ["(SAIL 100)", "(BANK 200)"])
        try await peer.snapshot(4, [("SAIL", 3, 103), ("BANK", 1, 200)], round: 1)
        await stage.until { $0.isCurrent }
        #expect(stage.feed.prices == ["SAIL 103", "BANK 200"])
        #expect(stage.feed.counts.gaps == 1 && stage.feed.counts.resyncs == 1)
    }

    @Test func `each invalid message is counted and causes a resync, and the third closes the connection with 1007`() async throws {
        let (stage, peer) = try await QuoteStage.following()
        try await peer.transport.send(.binary([0xc1]))
        #expect(try await peer.request() == .resync(round: 1))
        #expect(stage.feed.prices == ["(SAIL 100)", "(BANK 200)"])
        try await peer.transport.send(.text("no MessagePack"))
        // The definition of a symbol may have been lost, so a tick for it is not invalid before the resync has ended.
        try await peer.tick(2, 9, 1, by: 1)
        // A refusal that nobody asked for changes nothing, and the feed announces it.
        try await peer.send(.refusal(.init(id: 9, code: .badRequest, message: "no")))
        await stage.until { $0.counts.messages == 2 }
        #expect(stage.feed.counts.garbage == 2)
        try await peer.tick(3, 10, 1, by: 1)
        #expect(await peer.transport.closeCode() == .invalidPayload)
        await stage.until { $0.complaint != nil }
        // The next resync may fix it.
        let second = try await stage.acceptAgain()
        _ = try await second.request()
        try await second.snapshot(1, [("SAIL", 2, 101), ("BANK", 1, 200)])
        await stage.until { $0.isCurrent }
        #expect(stage.feed.prices == ["SAIL 101", "BANK 200"])
        #expect(stage.feed.counts.garbage == 3)
    }

    @Test func `quotes are stale as soon as the connection is given up, also without a reconnect`() async throws {
        let (stage, peer) = try await QuoteStage.following()
        await stage.feed.socket.notify(.suspended)
        await stage.until { $0.prices == ["(SAIL 100)", "(BANK 200)"] }
        withExtendedLifetime(peer) {}
    }

    @Test func `a silent server is left for another attempt`() async throws {
        let stage = QuoteStage()
        try stage.feed.subscribe("*")
        let first = try await stage.accept()
        _ = try await first.request()
        await stage.until { $0.counts.connections == 1 }
        stage.clock.advance(by: .seconds(10))
        guard case .failure = await first.transport.ended() else { throw TransportError(.lost, "closed in peace") }
        await stage.until { $0.complaint != nil }
        _ = try await stage.acceptAgain()
    }

    @Test func `a server without a subprotocol of quotes is left for good`() async throws {
        let stage = QuoteStage()
        let peer = try await stage.base.answer()
        #expect(await peer.closeCode() == .protocolError)
        await stage.until { $0.closure != nil }
        #expect(stage.feed.complaint == "the server agreed on no subprotocol of ours")
    }

    @Test func `a refusal of an unknown subscription is ignored`() async throws {
        let stage = QuoteStage()
        let peer = try await stage.accept()
        for id in [Int64(0), 1, 7] { try await peer.send(.refusal(.init(id: id, code: .badRequest, message: "no"))) }
        try stage.feed.subscribe("*")
        #expect(try await peer.request() == .subscribe(id: 1, symbols: ["*"], rate: nil))
        try await peer.snapshot(1, [("SAIL", 1, 100)])
        await stage.until { $0.isCurrent }
        #expect(stage.feed.counts.connections == 1)
    }

    // MARK: - Updates

    @Test func `a reader gets all quotes, and then each changed symbol once with its newest quote`() async throws {
        let (stage, peer) = try await QuoteStage.following()
        var updates = stage.feed.updates().makeAsyncIterator()
        #expect(await updates.next()?.quotes.map(\.last) == [100, 200])
        // The reader is slow, and many changes come meanwhile.
        for round in 1...50 {
            try await peer.tick(Int64(2 * round), 1, Int64(round + 1), by: 1)
            try await peer.tick(Int64(2 * round + 1), 0, Int64(round + 1), by: 2)
        }
        await stage.until { $0.counts.ticks == 100 }
        let update = await updates.next()
        #expect(update?.quotes.map(\.symbol) == ["BANK", "SAIL"], "in the order of the first change")
        #expect(update?.quotes.map(\.last) == [250, 200])
        try await peer.tick(102, 0, 60, by: -1)
        #expect(await updates.next()?.quotes.map(\.version) == [60])
    }

    @Test func `with a rate the first update comes at once, and the next after its interval with all changes`() async throws {
        let (stage, peer) = try await QuoteStage.following()
        var updates = stage.feed.updates(atMost: 50).makeAsyncIterator()
        #expect(await updates.next()?.quotes.count == 2)
        try await peer.tick(2, 0, 2, by: 1)
        async let next = updates.next()
        await stage.base.sleeper(of: .milliseconds(20))
        try await peer.tick(3, 0, 3, by: 1)
        try await peer.tick(4, 1, 2, by: 1)
        await stage.until { $0.counts.ticks == 3 }
        stage.clock.advance(by: .milliseconds(20))
        #expect(await next?.quotes.map(\.last) == [102, 201])
    }

    @Test func `stale and removed quotes are reported, too`() async throws {
        let (stage, peer) = try await QuoteStage.following()
        var updates = stage.feed.updates().makeAsyncIterator()
        _ = await updates.next()
        peer.transport.cut()
        #expect(await updates.next()?.quotes.map(\.isCurrent) == [false, false])
        let second = try await stage.acceptAgain(market: 2)
        #expect(await updates.next() == QuoteUpdate(removed: ["SAIL", "BANK"]), "it is another market")
        _ = try await second.request()
        try await second.snapshot(1, [("SAIL", 1, 1)])
        #expect(await updates.next()?.quotes.map(\.last) == [1])
    }

    @Test func `readers end with the socket, after the remaining updates`() async throws {
        let (stage, peer) = try await QuoteStage.following()
        var updates = stage.feed.updates().makeAsyncIterator()
        _ = await peer.transport.close(CloseFrame(.normal))
        await stage.until { $0.closure != nil }
        #expect(await updates.next()?.quotes.map(\.isCurrent) == [false, false])
        #expect(await updates.next() == nil)
        #expect(stage.feed.closure?.error == nil)
    }

    @Test func `a waiting reader can be cancelled, and others go on`() async throws {
        let (stage, peer) = try await QuoteStage.following()
        let waiting = Task { () -> Int in
            var count = 0
            for await _ in stage.feed.updates() { count += 1 }
            return count
        }
        var other = stage.feed.updates().makeAsyncIterator()
        _ = await other.next()
        waiting.cancel()
        #expect(await waiting.value <= 1)
        try await peer.tick(2, 0, 2, by: 1)
        #expect(await other.next()?.quotes.map(\.last) == [101])
    }

    @Test func `a released feed releases its socket`() async throws {
        let peer = try await { () async throws -> QuotePeer in
            let (stage, peer) = try await QuoteStage.following()
            var updates = stage.feed.updates().makeAsyncIterator()
            _ = await updates.next()
            return peer
        }()
        _ = await peer.transport.ended()
    }
}
