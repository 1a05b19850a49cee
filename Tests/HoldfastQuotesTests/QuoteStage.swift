import Holdfast
import HoldfastQuotes
import HoldfastTesting
import QuotesCore
import Testing

/// A feed in a world where nothing happens by itself: the test is the server, and time is the test's.
struct QuoteStage: Sendable {
    static let policy = ReconnectPolicy(backoff: Backoff(base: .seconds(1), jitter: .proportional(0)))

    let clock = ManualClock()
    let server = MemoryServer()
    let feed: QuoteFeed

    init(rate: Int? = nil) {
        var options = WebSocketOptions()
        options.reconnect = Self.policy
        QuoteFeed.prepare(&options)
        let socket = WebSocket(options, seed: 1, clock: clock, connect: server.connect)
        feed = QuoteFeed(over: socket, rate: rate, clock: clock)
    }

    /// Answers the next attempt, greets, and returns the server's end.
    func accept(_ encoding: QuotesEncoding = .messagePack, market: Int64 = 1, symbols: Int64 = 10) async throws -> QuotePeer {
        let agreement = Agreement(subprotocol: encoding.subprotocol, response: ResponseHead(status: 101))
        let peer = QuotePeer(transport: try #require(await server.nextAttempt()).accept(agreement), codec: QuotesCodec(encoding))
        try await peer.send(.welcome(.init(market: market, symbols: symbols)))
        return peer
    }

    /// A feed with one subscription to everything, and its server that has shown SAIL and BANK.
    static func following(_ encoding: QuotesEncoding = .messagePack) async throws -> (stage: QuoteStage, peer: QuotePeer) {
        let stage = QuoteStage()
        try stage.feed.subscribe("*")
        let peer = try await stage.accept(encoding)
        #expect(try await peer.request() == .subscribe(id: 1, symbols: ["*"], rate: nil))
        try await peer.snapshot(1, [("SAIL", 1, 100), ("BANK", 1, 200)])
        await stage.until { $0.isCurrent }
        return (stage, peer)
    }

    /// Waits until the feed is as it should be; only the suite's time limit ends a wait that is in vain.
    func until(_ isReached: (QuoteFeed) -> Bool) async {
        while !isReached(feed), !Task.isCancelled { await Task.yield() }
    }

    /// Waits until somebody sleeps for so long.
    func sleeper(of duration: Duration) async { while !Task.isCancelled, await clock.nextSleep() != duration {} }

    /// Lets the pause before the next attempt pass.
    func pause() async {
        // The feed sleeps, too: shorter before a resync, longer out of patience.
        var pause = await clock.nextSleep()
        while !Task.isCancelled, !(.milliseconds(400) ... .seconds(5) ~= pause) { pause = await clock.nextSleep() }
        clock.advance(by: pause)
    }
}

/// The server's end of a feed's connection.
struct QuotePeer: Sendable {
    let transport: MemoryTransport
    let codec: QuotesCodec

    func send(_ reply: QuotesReply) async throws { try await transport.send(codec.encode(reply)) }

    /// The next request.
    func request() async throws -> QuotesRequest? {
        guard case .message(let message)? = try await transport.receive() else { return nil }
        return try codec.request(from: message)
    }

    /// A part of a snapshot: names, versions and last prices; the numbers of the symbols are 0, 1, ….
    func snapshot(_ sequence: Int64, _ quotes: [(String, Int64, Int64)], round: Int64 = 0, isLast: Bool = true) async throws {
        let quotes = quotes.enumerated().map { number, quote in
            QuotesReply.FullQuote(
                symbol: UInt32(number), name: quote.0, state: QuoteState(version: quote.1, figures: QuoteFigures(last: quote.2)))
        }
        try await send(.snapshot(.init(id: 1, sequence: sequence, round: round, isLast: isLast, quotes: quotes)))
    }

    /// A change of the last price of one symbol.
    func tick(_ sequence: Int64, _ symbol: UInt32, _ version: Int64, by difference: Int64) async throws {
        let tick = QuotesReply.Tick(symbol: symbol, version: version, fields: .last, differences: QuoteFigures(last: difference))
        try await send(.ticks(.init(sequence: sequence, conflated: 2, ticks: [tick])))
    }
}

extension MemoryTransport {
    /// Waits for the end, and returns the code that the feed closed with.
    func closeCode() async -> CloseCode? {
        while case .some = try? await receive() {}
        _ = await ended()
        return closeRecord?.received?.code
    }
}

extension QuoteFeed {
    /// Last prices, those that are old in parentheses.
    var prices: [String] { quotes.map { $0.isCurrent ? "\($0.symbol) \($0.last)" : "(\($0.symbol) \($0.last))" } }
}
