import Holdfast
import HoldfastTesting
import Testing

@Suite(.timeLimit(.minutes(1))) struct MemoryServerTests {
    private let server = MemoryServer()

    private func connecting() -> Task<WebSocketConnection, any Error> { Task { [server] in try await server.connect() } }

    private func code(_ connecting: Task<WebSocketConnection, any Error>) async -> WebSocketError.Code? {
        (await #expect(throws: WebSocketError.self) { try await connecting.value })?.code
    }

    @Test func `an accepted attempt becomes a connection`() async throws {
        let connecting = connecting()
        let peer = try #require(await server.nextAttempt()).accept(Agreement(subprotocol: "chat", response: ResponseHead(status: 101)))
        let connection = try await connecting.value
        #expect(connection.subprotocol == "chat")
        try await connection.send(.text("hello"))
        #expect(try await peer.receive() == .message(.text("hello")))
    }

    @Test func `a refused attempt fails with the test's error`() async throws {
        let connecting = connecting()
        try #require(await server.nextAttempt()).refuse(TransportError(.tls, "unknown authority"))
        #expect(await code(connecting) == .tls)
    }

    @Test func `an attempt that is released unanswered fails`() async throws {
        let connecting = connecting()
        _ = await server.nextAttempt()
        #expect(await code(connecting) == .unreachable)
    }

    @Test func `a cancelled client stops waiting, and its accepted connection ends`() async throws {
        let connecting = connecting()
        let attempt = try #require(await server.nextAttempt())
        connecting.cancel()
        #expect(await code(connecting) == .cancelled)
        await attempt.ended()
        guard case .failure = await attempt.accept().ended() else { throw CancellationError() }
    }

    @Test func `an accepted connection stays open though nobody keeps its end, and it ends with the server`() async throws {
        var server: MemoryServer? = MemoryServer()
        let connecting = Task { [server] in try await server?.connect() }
        _ = try #require(await server?.nextAttempt()).accept()
        let connection = try #require(try await connecting.value)
        _ = try await connection.ping(timeout: .seconds(20))
        server = nil
        guard case .failure = await connection.transport.ended() else { throw CancellationError() }
    }

    /// The example of the documentation.
    @Test func `a socket is tested without network and without waiting`() async throws {
        let clock = ManualClock()
        let socket = WebSocket(clock: clock, connect: server.connect)
        await server.nextAttempt()?.refuse(TransportError(.unreachable, "no route"))
        clock.advance(by: await clock.nextSleep())
        let peer = await server.nextAttempt()?.accept()
        try await peer?.send(.text("hello"))
        var received: [Message] = []
        for await event in socket.events {
            if case .message(let message) = event {
                received.append(message)
                break
            }
        }
        #expect(received == [.text("hello")])
    }
}
