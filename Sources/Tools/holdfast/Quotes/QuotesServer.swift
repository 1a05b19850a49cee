import Foundation
import Holdfast
import HoldfastQuotes
import HoldfastServer
import MachineCore
import QuotesCore
import WebSocketRuntime

/// Serves the quotes of a market to everybody who asks.
struct QuotesServer: Sendable {
    let floor: MarketFloor
    /// The share of tick messages that are dropped on purpose, from 0 to 1.
    let drop: Double
    let seed: UInt64
    let log: ServerLog

    /// What runs it; see ``MarketFloor/run()`` for the market.
    func server(_ configuration: WebSocketServerConfiguration) -> WebSocketServer {
        var configuration = configuration
        configuration.limits.message = min(configuration.limits.message, QuotesLimits.requestBytes)
        // What waits in buffers is old when it arrives; what waits in the feed's list of changes is not.
        configuration.unsentLimit = 16 * 1024
        return WebSocketServer(configuration: configuration, upgrade: { Self.decide($0) }, http: { Self.answer($0) }, handler: serve)
    }

    static func decide(_ request: UpgradeRequest) -> UpgradeDecision {
        if ["/", "/quotes"].contains(request.path) { return .refuse(status: 404, "The feed is at /feed.\n") }
        guard let encoding = QuotesEncoding.agreed(on: request.subprotocols) else {
            let names = QuotesEncoding.allCases.map(\.subprotocol).joined(separator: "\n")
            return .refuse(status: 400, "Offer one of these subprotocols:\n\(names)\n")
        }
        return .accept(subprotocol: encoding.subprotocol)
    }

    static func answer(_ request: RequestHead) -> HTTPResponse {
        if let page = QuotesPage.response(for: request) { return page }
        guard request.path == "/" else { return HTTPResponse(status: 404, text: "The page is at /quotes, the feed at /feed.\n") }
        return HTTPResponse(status: 302, headers: ["Location": "/quotes"])
    }

    private func serve(_ connection: WebSocketConnection, _ request: UpgradeRequest) async throws {
        guard let encoding = connection.subprotocol.flatMap(QuotesEncoding.init(subprotocol:)) else { return }
        let peer = (request.remoteAddress ?? "a client").escapedOnOneLine
        log.note("\(peer) opened \(request.path.escapedOnOneLine), \(encoding.subprotocol)")
        let (number, visitor) = floor.welcome()
        defer { floor.leave(number) }
        let end = await converse(connection, visitor, QuotesCodec(encoding), SplitMix64(seed: seed &+ UInt64(number)))
        let counts = visitor.counts
        let figures = "\(Int(counts.ticks).grouped) ticks, \(Int(counts.conflated).grouped) conflated"
        log.note("\(peer) \(end ?? connection.closeRecord?.phrase ?? "left") (\(figures))")
    }

    /// Talks to a client until it leaves or is sent away; what went wrong, if anything.
    private func converse(
        _ connection: WebSocketConnection, _ visitor: QuotesVisitor, _ codec: QuotesCodec, _ chance: SplitMix64
    ) async -> String? {
        await withTaskGroup(of: String?.self) { group in
            group.addTask { await listen(to: connection, visitor, codec) }
            group.addTask { await tell(connection, visitor, codec, chance) }
            let end = await group.next()
            group.cancelAll()
            return end ?? nil
        }
    }

    private func listen(to connection: WebSocketConnection, _ visitor: QuotesVisitor, _ codec: QuotesCodec) async -> String? {
        do {
            for try await message in connection.messages {
                guard Self.hear(message, visitor, codec) else {
                    await connection.close(code: .policyViolation, reason: "too many bad requests")
                    return "asked for nonsense, and was sent away"
                }
            }
            return nil
        } catch {
            return "\(error)"
        }
    }

    private static func hear(_ message: Message, _ visitor: QuotesVisitor, _ codec: QuotesCodec) -> Bool {
        do {
            // What a later version has is ignored.
            guard let request = try codec.request(from: message) else { return true }
            return visitor.receive(request)
        } catch {
            return visitor.receive(nil)
        }
    }

    /// Sends what the feed has to say, a message when the one before has left.
    private func tell(
        _ connection: WebSocketConnection, _ visitor: QuotesVisitor, _ codec: QuotesCodec, _ chance: SplitMix64
    ) async -> String? {
        var chance = chance
        do {
            for await _ in visitor.bell {
                while let reply = visitor.next(from: floor) {
                    if case .ticks = reply, drop > 0, Double.random(in: 0..<1, using: &chance) < drop { continue }
                    try await connection.send(codec.encode(reply))
                    await connection.written()
                }
            }
            return nil
        } catch {
            return "\(error)"
        }
    }
}

extension WebSocketConnection {
    /// Waits until the system has taken all that was sent, or the connection is over.
    fileprivate func written() async {
        await withCheckedContinuation { continuation in transport.whenWritten { _ in continuation.resume() } }
    }
}

/// The market of a server, beating in real time, and everybody who watches it.
final class MarketFloor: Sendable {
    private struct State {
        var market: Market
        var visitors: [Int: QuotesVisitor] = [:]
        var nextVisitor = 0
    }
    /// A machine that slept does not make up for more beats than these.
    private static let mostBeatsAtOnce = 100

    private let state: LockedValue<State>
    private let start = ContinuousClock.now
    private let clock: @Sendable () -> Int64

    /// - Parameters:
    ///   - plan: What the market is like.
    ///   - clock: What time its quotes have, in milliseconds since 1970.
    init(_ plan: MarketPlan, clock: @escaping @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1000) }) {
        (state, self.clock) = (LockedValue(State(market: Market(plan))), clock)
    }

    /// All symbols with their quotes, as they are now.
    var table: QuoteTable { state.withLockedValue { $0.market.table } }

    /// The time that feeds count from when the market began.
    var now: Moment { Moment(start.duration(to: .now)) }

    /// Lets the market go on until the task is cancelled.
    func run() async {
        var next = ContinuousClock.now + Market.beat
        while (try? await Task.sleep(until: next, clock: .continuous)) != nil {
            var due = 0
            while next <= .now { (next, due) = (next + Market.beat, due + 1) }
            for _ in 0..<min(due, Self.mostBeatsAtOnce) { beat() }
        }
    }

    /// Lets the market go on by one beat, and tells everybody.
    func beat() {
        let (changed, visitors) = state.withLockedValue { state in
            var changed: [Int] = []
            state.market.beat(at: clock(), into: &changed)
            return (changed, Array(state.visitors.values))
        }
        for visitor in visitors { visitor.note(changed) }
    }

    /// A new client, who hears of all changes from now on.
    func welcome() -> (number: Int, visitor: QuotesVisitor) {
        state.withLockedValue { state in
            let visitor = QuotesVisitor(Feed(of: state.market.table))
            defer { state.nextVisitor += 1 }
            state.visitors[state.nextVisitor] = visitor
            return (state.nextVisitor, visitor)
        }
    }

    /// The client is gone.
    func leave(_ number: Int) { state.withLockedValue { $0.visitors[number] = nil } }
}

/// One client of the market: its feed, and the bell that says that the feed may have something to say.
final class QuotesVisitor: Sendable {
    private let feed: LockedValue<Feed>
    /// Rings once for any number of causes.
    let bell: AsyncStream<Void>
    private let rope: AsyncStream<Void>.Continuation

    init(_ feed: Feed) {
        self.feed = LockedValue(feed)
        (bell, rope) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        rope.yield()
    }

    /// Hears which symbols have changed; to be called in every beat, for a feed may have waited for its time.
    func note(_ changed: [Int]) {
        feed.withLockedValue { feed in
            for symbol in changed { feed.note(changed: symbol) }
        }
        rope.yield()
    }

    /// Hears what its client asks for, nil for what cannot be read; false if that is nonsense without an end.
    func receive(_ request: QuotesRequest?) -> Bool {
        defer { rope.yield() }
        return feed.withLockedValue { feed in
            if let request { feed.receive(request) } else { feed.receiveMalformed("this is no message of the protocol") }
            return !feed.isAbused
        }
    }

    /// What goes out next.
    ///
    /// The table is read only when no change can be noted: one from before a change that the feed knows of would lose it.
    func next(from floor: MarketFloor) -> QuotesReply? {
        feed.withLockedValue { $0.next(from: floor.table, at: floor.now) }
    }

    var counts: FeedCounts { feed.withLockedValue { $0.counts } }
}

/// The web page that shows a market live, at `/quotes`: its document and what the document loads.
enum QuotesPage {
    /// The answer to a request for the page or a part of it, or nothing if the request is for something else.
    static func response(for request: RequestHead) -> HTTPResponse? {
        guard let part = parts[request.path] else { return nil }
        guard ["GET", "HEAD"].contains(request.method) else { return HTTPResponse(status: 405, headers: ["Allow": "GET, HEAD"]) }
        return HTTPResponse(status: 200, headers: part.headers, body: part.body)
    }

    private struct Part {
        let type: String
        let body: [UInt8]

        /// Nothing is loaded from elsewhere or written into the page, and another build is seen at once.
        var headers: HeaderFields {
            [
                "Content-Type": type, "Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
                "Content-Security-Policy": """
                default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
                base-uri 'none'; form-action 'none'; frame-ancestors 'none'
                """,
            ]
        }
    }

    private static let parts: [String: Part] = {
        let script = "text/javascript; charset=utf-8"
        return [
            "/quotes": Part(type: "text/html; charset=utf-8", body: PackageResources.quotes_html),
            "/quotes/page.css": Part(type: "text/css; charset=utf-8", body: PackageResources.page_css),
            "/quotes/page.mjs": Part(type: script, body: PackageResources.page_mjs),
            "/quotes/table.mjs": Part(type: script, body: PackageResources.table_mjs),
            "/quotes/market.mjs": Part(type: script, body: PackageResources.market_mjs),
            "/quotes/worker.mjs": Part(type: script, body: PackageResources.worker_mjs),
            "/quotes/feed.mjs": Part(type: script, body: PackageResources.feed_mjs),
            "/quotes/backoff.mjs": Part(type: script, body: PackageResources.backoff_mjs),
            "/quotes/book.mjs": Part(type: script, body: PackageResources.book_mjs),
            "/quotes/messagepack.mjs": Part(type: script, body: PackageResources.messagepack_mjs),
        ]
    }()
}
