import Holdfast
import HoldfastQuotes
import HoldfastServer
import MachineCore
import QuotesCore

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
