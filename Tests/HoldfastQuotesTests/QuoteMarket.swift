import Holdfast
import HoldfastQuotes
import HoldfastServer
import MachineCore
import WebSocketRuntime
import QuotesCore

/// A market on a real server whose trades the test makes.
///
/// Each connection has a feed, which is asked only when more can be sent.
final class QuoteMarket: Sendable {
    /// A fault for the message with a certain number.
    enum Fate: Sendable { case sent, dropped, garbage }
    private struct Client {
        var feed: Feed
        let wake: AsyncStream<Void>.Continuation
    }
    private struct State {
        var table: QuoteTable
        var clients: [Int: Client] = [:]
        var lastClient = 0
        var conflated: UInt64 = 0
    }
    private let state: LockedValue<State>
    private let outcome: @Sendable (_ sequence: Int64) -> Fate
    private let start = ContinuousClock.now

    init(symbols: Int, outcome: @escaping @Sendable (_ sequence: Int64) -> Fate = { _ in .sent }) {
        let table = QuoteTable(
            market: 1, symbols: (0..<symbols).map { ("S\($0)", QuoteFigures(bid: 900, ask: 1100, last: 1000, volume: 0, time: 1)) })
        (state, self.outcome) = (LockedValue(State(table: table)), outcome)
    }

    /// A server of this market whose connections buffer few bytes.
    var server: WebSocketServer {
        var configuration = WebSocketServerConfiguration()
        configuration.limits.sendBuffer = 16 * 1024
        configuration.limits.message = QuotesLimits.requestBytes
        return WebSocketServer(configuration: configuration) { request in
            guard let encoding = QuotesEncoding.agreed(on: request.subprotocols) else { return .refuse(status: 400) }
            return .accept(subprotocol: encoding.subprotocol)
        } handler: { connection, _ in
            try await self.serve(connection)
        }
    }

    var table: QuoteTable { state.withLockedValue(\.table) }
    /// The number of changes that were conflated, so no client got them.
    var conflated: UInt64 { state.withLockedValue { $0.conflated + $0.clients.values.reduce(0) { $0 + $1.feed.counts.conflated } } }

    /// Changes every symbol once.
    func trade() {
        state.withLockedValue { state in
            for symbol in 0..<state.table.count {
                var figures = state.table[symbol].figures
                figures.last = 1000 + (figures.last + Int64(symbol) * 7 + 13) % 500
                (figures.volume, figures.time) = (figures.volume + 1, figures.time + 10)
                state.table.update(symbol, to: figures)
                for id in state.clients.keys { state.clients[id]?.feed.note(changed: symbol) }
            }
            for client in state.clients.values { client.wake.yield() }
        }
    }

    /// Whether a feed shows the whole market as it is.
    func isShown(by feed: QuoteFeed) -> Bool {
        let table = table
        return feed.isCurrent && feed.quotes.count == table.count
            && (0..<table.count).allSatisfy { feed[table.names[$0]]?.state == table[$0] && feed[table.names[$0]]?.isCurrent == true }
    }

    private func serve(_ connection: WebSocketConnection) async throws {
        guard let codec = connection.subprotocol.flatMap({ QuotesEncoding(subprotocol: $0) }).map({ QuotesCodec($0) }) else { return }
        let (wakes, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let id = state.withLockedValue { state in
            state.lastClient += 1
            state.clients[state.lastClient] = Client(feed: Feed(of: state.table), wake: wake)
            return state.lastClient
        }
        defer {
            state.withLockedValue { $0.conflated += $0.clients.removeValue(forKey: id)?.feed.counts.conflated ?? 0 }
        }
        wake.yield()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for try await message in connection.messages {
                    self.state.withLockedValue { state in
                        if let request = try? codec.request(from: message) { state.clients[id]?.feed.receive(request) }
                    }
                    wake.yield()
                }
            }
            group.addTask {
                // For messages that are due by time alone: rates and heartbeats.
                while true {
                    try await Task.sleep(for: .milliseconds(20))
                    wake.yield()
                }
            }
            group.addTask {
                for await _ in wakes {
                    while let reply = self.next(for: id) { try await self.send(reply, codec, connection) }
                }
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private func next(for id: Int) -> QuotesReply? {
        state.withLockedValue { $0.clients[id]?.feed.next(from: $0.table, at: Moment(ContinuousClock.now - start)) }
    }

    private func send(_ reply: QuotesReply, _ codec: QuotesCodec, _ connection: WebSocketConnection) async throws {
        let sequence: Int64? =
            switch reply {
            case .snapshot(let part): part.sequence
            case .ticks(let ticks): ticks.sequence
            case .welcome, .refusal: nil
            }
        switch sequence.map(outcome) ?? .sent {
        case .sent: try await connection.send(codec.encode(reply))
        case .dropped: break
        case .garbage: try await connection.send(codec.encoding == .json ? .text("[") : .binary([0xff]))
        }
    }
}
