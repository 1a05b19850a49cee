import Holdfast
import HoldfastServer
import Testing

/// Servers that want a name and a password.
@Suite struct WaysBasicTests {
    /// Lets only Aladdin in.
    private static let server = WebSocketServer { request in
        if request.headers["Authorization"] == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==" { return .accept }
        return .refuse(HTTPResponse(status: 401, headers: ["WWW-Authenticate": "Basic realm=\"the cave\", Bearer"]))
    } handler: { connection, _ in
        try await connection.send(.text("welcome"))
    }

    @Test func `the provider of a session gives them`() async throws {
        try await Self.server.withRunning { server in
            let socket = WebSocket(server.url()) { $0.credentials = .basic { ("Aladdin", "open sesame") } }
            var told: Message?
            for await event in socket.events {
                guard case .message(let message) = event else { continue }
                told = message
                break
            }
            #expect(told == .text("welcome"))
            await socket.close()
        }
    }

    @Test func `a refusal says what the server wants`() async throws {
        try await Self.server.withRunning { server in
            let error = await #expect(throws: WebSocketError.self) { try await WebSocketConnection.connect(to: server.url()) }
            #expect(error?.challenges.map(\.scheme) == ["basic", "bearer"])
            #expect(error?.challenges.first?.realm == "the cave")
        }
    }
}
