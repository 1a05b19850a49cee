import Holdfast
import HoldfastServer
import Testing

/// Servers that require a name and a password.
@Suite struct WaysBasicTests {
    /// Accepts only Aladdin.
    private static let server = WebSocketServer { request in
        if request.headers["Authorization"] == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==" { return .accept }
        return .refuse(HTTPResponse(status: 401, headers: ["WWW-Authenticate": "Basic realm=\"the cave\", Bearer"]))
    } handler: { connection, _ in
        try await connection.send(.text("welcome"))
    }

    @Test func `a session's provider supplies the name and the password`() async throws {
        try await Self.server.withRunning { server in
            let socket = WebSocket(server.url()) { $0.credentials = .basic { ("Aladdin", "open sesame") } }
            var received: Message?
            for await event in socket.events {
                guard case .message(let message) = event else { continue }
                received = message
                break
            }
            #expect(received == .text("welcome"))
            await socket.close()
        }
    }

    @Test func `a refusal lists the schemes that the server accepts`() async throws {
        try await Self.server.withRunning { server in
            let error = await #expect(throws: WebSocketError.self) { try await WebSocketConnection.connect(to: server.url()) }
            #expect(error?.challenges.map(\.scheme) == ["basic", "bearer"])
            #expect(error?.challenges.first?.realm == "the cave")
        }
    }
}
