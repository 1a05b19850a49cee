import Foundation
import Holdfast
import HoldfastQuotes
package import HoldfastServer
package import HoldfastTerminal
import MachineCore
package import QuotesCore
import WebSocketRuntime

/// Serves the quotes of a market to any client.
package struct QuotesServer: Sendable {
    private let floor: MarketFloor
    private let drop: Double
    private let seed: UInt64
    private let log: ServerLog

    /// - Parameters:
    ///   - drop: The share of tick messages that are dropped on purpose, from 0 to 1.
    ///   - seed: The seed for what is dropped.
    package init(floor: MarketFloor, drop: Double, seed: UInt64, log: ServerLog) {
        (self.floor, self.drop, self.seed, self.log) = (floor, drop, seed, log)
    }

    /// Creates the server; ``MarketFloor/run()`` runs the market.
    package func server(_ configuration: WebSocketServerConfiguration) -> WebSocketServer {
        var configuration = configuration
        configuration.limits.message = min(configuration.limits.message, QuotesLimits.requestBytes)
        // Buffered data is outdated when it arrives, so the changes wait in the feed, where newer ones replace older ones.
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
        let (number, client) = floor.welcome()
        defer { floor.leave(number) }
        let end = await converse(connection, client, QuotesCodec(encoding), SplitMix64(seed: seed &+ UInt64(number)))
        let counts = client.counts
        let figures = "\(Int(counts.ticks).grouped) ticks, \(Int(counts.conflated).grouped) conflated"
        log.note("\(peer) \(end ?? connection.closeRecord?.phrase ?? "left") (\(figures))")
    }

    /// Serves a client until it leaves or is closed; returns what went wrong, if anything.
    private func converse(
        _ connection: WebSocketConnection, _ client: QuotesClient, _ codec: QuotesCodec, _ chance: SplitMix64
    ) async -> String? {
        await withTaskGroup(of: String?.self) { group in
            group.addTask { await listen(to: connection, client, codec) }
            group.addTask { await notify(connection, client, codec, chance) }
            let end = await group.next()
            group.cancelAll()
            return end ?? nil
        }
    }

    private func listen(to connection: WebSocketConnection, _ client: QuotesClient, _ codec: QuotesCodec) async -> String? {
        do {
            for try await message in connection.messages {
                guard Self.handle(message, client, codec) else {
                    await connection.close(code: .policyViolation, reason: "too many bad requests")
                    return "sent too many bad requests, and was closed"
                }
            }
            return nil
        } catch {
            return "\(error)"
        }
    }

    private static func handle(_ message: Message, _ client: QuotesClient, _ codec: QuotesCodec) -> Bool {
        do {
            // Requests of later protocol versions are ignored.
            guard let request = try codec.request(from: message) else { return true }
            return client.receive(request)
        } catch {
            return client.receive(nil)
        }
    }

    /// Sends the messages of the feed; each message waits until the previous one has left.
    private func notify(
        _ connection: WebSocketConnection, _ client: QuotesClient, _ codec: QuotesCodec, _ chance: SplitMix64
    ) async -> String? {
        var chance = chance
        do {
            for await _ in client.bell {
                while let reply = client.next(from: floor) {
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
    /// Waits until the system has taken everything that was sent, or the connection is over.
    fileprivate func written() async {
        await withCheckedContinuation { continuation in transport.whenWritten { _ in continuation.resume() } }
    }
}

/// The market of a server in real time, and the clients that watch it.
package final class MarketFloor: Sendable {
    private struct State {
        var market: Market
        var clients: [Int: QuotesClient] = [:]
        var nextClient = 0
    }
    /// The maximum number of missed beats that are made up for, for example after the machine slept.
    private static let mostBeatsAtOnce = 100

    private let state: LockedValue<State>
    private let start = ContinuousClock.now
    private let clock: @Sendable () -> Int64

    /// - Parameters:
    ///   - plan: The properties of the market.
    ///   - clock: Returns the time for quotes, in milliseconds since 1970.
    package init(_ plan: MarketPlan, clock: @escaping @Sendable () -> Int64 = { WallClock.milliseconds }) {
        (state, self.clock) = (LockedValue(State(market: Market(plan))), clock)
    }

    /// All symbols with their current quotes.
    var table: QuoteTable { state.withLockedValue { $0.market.table } }

    /// The time since the market began, which feeds use.
    var now: Moment { Moment(start.duration(to: .now)) }

    /// Runs the market until the task is cancelled.
    package func run() async {
        var next = ContinuousClock.now + Market.beat
        while (try? await Task.sleep(until: next, clock: .continuous)) != nil {
            var due = 0
            while next <= .now { (next, due) = (next + Market.beat, due + 1) }
            for _ in 0..<min(due, Self.mostBeatsAtOnce) { beat() }
        }
    }

    /// Advances the market by one beat, and notifies all clients.
    func beat() {
        let (changed, clients) = state.withLockedValue { state in
            var changed: [Int] = []
            state.market.beat(at: clock(), into: &changed)
            return (changed, Array(state.clients.values))
        }
        for client in clients { client.note(changed) }
    }

    /// Adds a client, which gets all changes from now on.
    func welcome() -> (number: Int, client: QuotesClient) {
        state.withLockedValue { state in
            let client = QuotesClient(Feed(of: state.market.table))
            defer { state.nextClient += 1 }
            state.clients[state.nextClient] = client
            return (state.nextClient, client)
        }
    }

    /// Removes a client.
    func leave(_ number: Int) { state.withLockedValue { $0.clients[number] = nil } }
}

/// One client of the market: its feed, and the signal that the feed may have something to send.
final class QuotesClient: Sendable {
    private let feed: LockedValue<Feed>
    /// Signals once for any number of causes.
    let bell: AsyncStream<Void>
    private let rope: AsyncStream<Void>.Continuation

    init(_ feed: Feed) {
        self.feed = LockedValue(feed)
        (bell, rope) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        rope.yield()
    }

    /// Notes which symbols have changed; call it in every beat, because a feed may be waiting for its time.
    func note(_ changed: [Int]) {
        feed.withLockedValue { feed in
            for symbol in changed { feed.note(changed: symbol) }
        }
        rope.yield()
    }

    /// Processes a request, nil for an unreadable one; returns false if the client sent too many bad requests.
    func receive(_ request: QuotesRequest?) -> Bool {
        defer { rope.yield() }
        return feed.withLockedValue { feed in
            if let request { feed.receive(request) } else { feed.receiveMalformed("this is not a message of the protocol") }
            return !feed.isAbused
        }
    }

    /// Returns the next message to send.
    ///
    /// The table is read while the feed is locked: a table from before a change that the feed has noted would lose that change.
    func next(from floor: MarketFloor) -> QuotesReply? {
        feed.withLockedValue { $0.next(from: floor.table, at: floor.now) }
    }

    var counts: FeedCounts { feed.withLockedValue { $0.counts } }
}

/// The web page that shows a market live, at `/quotes`, with the files that it loads.
enum QuotesPage {
    /// Returns the response to a request for the page or one of its files; nil for other requests.
    static func response(for request: RequestHead) -> HTTPResponse? {
        guard let part = parts[request.path] else { return nil }
        guard ["GET", "HEAD"].contains(request.method) else { return HTTPResponse(status: 405, headers: ["Allow": "GET, HEAD"]) }
        return HTTPResponse(status: 200, headers: part.headers, body: part.body)
    }

    private struct Part {
        let type: String
        let body: [UInt8]

        /// Pages load nothing from elsewhere, contain no inline scripts, and notice a new build at once.
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
