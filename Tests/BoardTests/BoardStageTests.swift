import Board
import HoldfastProtocols
import HoldfastTesting
import Testing

/// The whole client with a server in memory and a manual clock.
@Suite(.timeLimit(.minutes(1))) struct BoardStageTests {
    // snippet.STAGE
    @Test func `a post whose answer is lost is sent again on the next connection`() async throws {
        let (clock, server) = (ManualClock(), MemoryServer())
        var options = WebSocketOptions()
        options.reconnect.backoff = Backoff(base: .seconds(1), jitter: .proportional(0))
        let socket = WebSocket(options, clock: clock, connect: server.connect)
        let client = ProtocolClient(BoardRules(name: "me", seed: 1), over: socket, clock: clock) { _ in
            CodableCoding<BoardReply, BoardRequest>()
        }
        async let outcome = client.request { .post($0, channel: "news", text: "hello", patience: nil) }

        let first = try #require(await server.nextAttempt()).accept()
        try await first.send(.text(#"{"welcome":{}}"#))
        var requests = WebSocketConnection(first).messages.makeAsyncIterator()
        #expect(try await requests.next() == .text(#"{"hello":{"name":"me"}}"#))
        _ = try await requests.next()
        first.cut()

        while await clock.nextSleep() != .seconds(1) {}
        clock.advance(by: .seconds(1))
        let second = try #require(await server.nextAttempt()).accept()
        try await second.send(.text(#"{"welcome":{}}"#))
        requests = WebSocketConnection(second).messages.makeAsyncIterator()
        _ = try await requests.next()
        let again = try #require(await requests.next())
        #expect(try JSONCodec().decode(BoardRequest.self, from: again) == .post(id: 1, channel: "news", text: "hello"))
        try await second.send(.text(#"{"ack":{"id":1}}"#))
        #expect(try await outcome.news == .posted)
    }
    // snippet.end
}
