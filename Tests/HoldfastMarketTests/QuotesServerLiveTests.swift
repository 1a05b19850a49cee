import Holdfast
import HoldfastQuotes
import HoldfastServer
import HoldfastTerminal
import MachineCore
import ProtocolCore
import QuotesCore
import Testing

@testable import HoldfastMarket

/// The server on a real connection, with a market that goes on only when the test says so.
@Suite(.timeLimit(.minutes(5))) struct QuotesServerLiveTests {
    private let floor = MarketFloor(MarketPlan(symbols: 250, rate: 10_000, seed: 3, mood: .calm, opening: 1_795_000_000_000))

    private func withServer(drop: Double = 0, _ body: (RunningServer) async throws -> Void) async throws {
        let server = QuotesServer(floor: floor, drop: drop, seed: 1, log: ServerLog(style: .plain, isQuiet: true))
        try await server.server(WebSocketServerConfiguration()).withRunning(body)
    }

    private func connect(_ server: RunningServer, _ encoding: QuotesEncoding) async throws -> WebSocketConnection {
        var configuration = WebSocketConfiguration()
        (configuration.subprotocols, configuration.compression) = ([encoding.subprotocol], nil)
        return try await WebSocketConnection.connect(to: server.url("/feed"), configuration: configuration)
    }

    /// Reads into a book until that says what the market does.
    private func follow(_ connection: WebSocketConnection, _ codec: QuotesCodec, _ book: inout QuotesMachine) async throws {
        var effects: [QuotesMachine.Effect] = []
        for try await message in connection.messages {
            let reply = try #require(try codec.decode(message))
            book.handle(.received(reply), at: .start, into: &effects)
            let table = floor.table
            if book.count == table.count, (0..<table.count).allSatisfy({ book[$0]?.state == table[$0] }) { return }
        }
        Issue.record("the connection ended")
    }

    private func subscribe(_ connection: WebSocketConnection, _ codec: QuotesCodec, _ symbols: [String]) async throws -> QuotesMachine {
        var (book, effects) = (QuotesMachine(), [QuotesMachine.Effect]())
        book.handle(.opened(nil), at: .start, into: &effects)
        book.handle(.command(.subscribe(id: 1, symbols.compactMap { SymbolPattern($0) })), at: .start, into: &effects)
        for case .send(let request) in effects { try await connection.send(codec.encode(request)) }
        return book
    }

    @Test(arguments: QuotesEncoding.allCases)
    func `a client has what the market has, beat by beat`(encoding: QuotesEncoding) async throws {
        try await withServer { server in
            let (connection, codec) = (try await connect(server, encoding), QuotesCodec(encoding))
            var book = try await subscribe(connection, codec, ["*"])
            try await follow(connection, codec, &book)
            for _ in 0..<20 {
                floor.beat()
                try await follow(connection, codec, &book)
            }
            #expect(book.counts.ticks == 2000 && book.counts.conflated == 0 && book.counts.gaps == 0)
            await connection.close()
        }
    }

    @Test func `a client that reads nothing for long gets the newest of each symbol, and every change is accounted for`() async throws {
        try await withServer { server in
            let (connection, codec) = (try await connect(server, .json), QuotesCodec(.json))
            var book = try await subscribe(connection, codec, ["*"])
            try await follow(connection, codec, &book)
            for _ in 0..<3000 { floor.beat() }
            try await follow(connection, codec, &book)
            #expect(book.counts.ticks + book.counts.conflated == 300_000)
            #expect(book.counts.conflated > 100_000)
            #expect(book.counts.gaps == 0 && book.counts.stale == 0)
            await connection.close()
        }
    }

    @Test func `one client that reads nothing does not hold up another`() async throws {
        try await withServer { server in
            let (slow, quick, codec) = (try await connect(server, .json), try await connect(server, .json), QuotesCodec(.json))
            _ = try await subscribe(slow, codec, ["*"])
            var book = try await subscribe(quick, codec, ["*"])
            try await follow(quick, codec, &book)
            for _ in 0..<25 {
                for _ in 0..<40 { floor.beat() }
                try await follow(quick, codec, &book)
            }
            slow.abort()
            await quick.close()
        }
    }

    @Test func `what is dropped on purpose is a gap, and only ticks are dropped`() async throws {
        try await withServer(drop: 1) { server in
            let (connection, codec) = (try await connect(server, .messagePack), QuotesCodec(.messagePack))
            var book = try await subscribe(connection, codec, ["*"])
            try await follow(connection, codec, &book)
            // What follows the dropped ticks is the answer to a request, with a later number: the next one, if the server was slow.
            var id: Int64 = 2
            while book.counts.gaps == 0 {
                floor.beat()
                try await connection.send(codec.encode(.subscribe(id: id, symbols: ["BANK"], rate: nil)))
                id += 1
                var effects: [QuotesMachine.Effect] = []
                let message = try #require(try await connection.messages.first { _ in true })
                book.handle(.received(try #require(try codec.decode(message))), at: .start, into: &effects)
            }
            #expect(book.counts.ticks == 0)
            await connection.close()
        }
    }

    @Test func `nonsense is answered, and what a later version may have is ignored`() async throws {
        try await withServer { server in
            let connection = try await connect(server, .json)
            try await connection.send(.text("{"))
            try await connection.send(.text(#"{"type":"dance"}"#))
            try await connection.send(.text(#"{"type":"unsubscribe","id":9}"#))
            var texts: [String] = []
            for try await message in connection.messages {
                if case .text(let text) = message { texts.append(text) }
                if texts.count == 3 { break }
            }
            #expect(texts[0].contains(#""type":"welcome""#))
            #expect(texts[1].contains(#""code":"bad_request""#))
            #expect(texts[2].contains(#""id":9,"code":"unknown_subscription""#))
            await connection.close()
        }
    }

    @Test func `a client that speaks none of the encodings is told which there are`() async throws {
        try await withServer { server in
            do throws(WebSocketError) {
                _ = try await WebSocketConnection.connect(to: server.url("/feed"))
                Issue.record("it was accepted")
            } catch {
                #expect(error.httpStatus == 400)
            }
        }
    }
}
