import Holdfast
import HoldfastQuotes
import HoldfastTesting
import ProtocolStage
import QuotesCore
import Testing

/// A feed on a ``ProtocolStage``: the test is the server.
struct QuoteStage: Sendable {
    let base = ProtocolStage { QuoteFeed.prepare(&$0) }
    let feed: QuoteFeed
    var clock: ManualClock { base.clock }

    init(rate: Int? = nil) { feed = QuoteFeed(over: base.socket, rate: rate, clock: base.clock) }

    /// Answers the next attempt, greets, and returns the server's end.
    func accept(_ encoding: QuotesEncoding = .messagePack) async throws -> QuotePeer {
        try await greet(base.answer(encoding.subprotocol), encoding, market: 1)
    }

    /// Lets time pass until the feed connects again, greets, and returns the server's end.
    func acceptAgain(market: Int64 = 1) async throws -> QuotePeer {
        let encoding = QuotesEncoding.messagePack
        return try await greet(base.answerAgain(encoding.subprotocol), encoding, market: market)
    }

    private func greet(_ transport: MemoryTransport, _ encoding: QuotesEncoding, market: Int64) async throws -> QuotePeer {
        let peer = QuotePeer(transport: transport, codec: QuotesCodec(encoding))
        try await peer.send(.welcome(.init(market: market, symbols: 10)))
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
    func until(_ isReached: (QuoteFeed) -> Bool) async { await feed.wait(until: isReached) }
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
