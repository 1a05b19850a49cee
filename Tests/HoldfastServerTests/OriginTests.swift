import Holdfast
import HoldfastServer
import ScriptedPeers
import Testing

extension SocketTests {
    /// The pages that may open a WebSocket.
    @Suite struct OriginTests {
        private func status(_ server: RunningServer, origin: String?, host: String = "127.0.0.1") async throws -> Int {
            var headers: HeaderFields = ["Host": host]
            headers["Origin"] = origin
            return try await ScriptedPeer.connect(to: server.port).upgrade(headers: headers).status
        }

        @Test func `by default pages of the server's own host and clients without an origin may connect`() async throws {
            try await WebSocketServer.echo().withRunning { server async throws -> Void in
                #expect(try await status(server, origin: nil) == 101)
                #expect(try await status(server, origin: nil, host: "native.example") == 101)
                #expect(try await status(server, origin: "http://127.0.0.1:3000") == 101)
                #expect(try await status(server, origin: "https://evil.example") == 403)
                #expect(try await status(server, origin: "null") == 403)
                #expect(try await status(server, origin: "http://evil.example", host: "evil.example") == 403)
            }
        }

        @Test func `the refusal has a reason`() async throws {
            try await WebSocketServer.echo().withRunning { server async throws -> Void in
                let headers: HeaderFields = ["Host": "evil.example", "Origin": "http://evil.example"]
                let request = String(decoding: try ScriptedPeer.upgradeRequest(headers: headers), as: UTF8.self)
                let (head, body) = try await ScriptedPeer.ask(server, request)
                #expect(head.status == 403 && head.headers["Connection"] == "close")
                #expect(body.contains("`evil.example` is not a known name of this server"))
            }
        }

        @Test func `allowed origins may connect, too`() async throws {
            let server = WebSocketServer.echo { $0.origins.allowed = ["https://app.example"] }
            try await server.withRunning { server async throws -> Void in
                #expect(try await status(server, origin: "https://app.example") == 101)
                #expect(try await status(server, origin: "https://evil.example") == 403)
            }
        }

        @Test func `the hook is not called for other origins`() async throws {
            let server = WebSocketServer { _ in
                .refuse(status: 418)
            } handler: { _, _ in
            }
            try await server.withRunning { server async throws -> Void in
                #expect(try await status(server, origin: "https://evil.example") == 403)
                #expect(try await status(server, origin: nil) == 418)
            }
        }

        @Test(arguments: [HTTPVersion.http1, .http2])
        func `both versions of HTTP apply the same policy`(version: HTTPVersion) async throws {
            try await WebSocketServer.echo { $0.httpVersion = .automatic }.withRunning { server async throws -> Void in
                var configuration = WebSocketConfiguration()
                configuration.httpVersion = version
                for (origin, isTaken) in [("https://evil.example", false), ("http://127.0.0.1:\(server.port)", true)] {
                    configuration.headers["Origin"] = origin
                    let connection = try? await WebSocketConnection.connect(to: server.url(), configuration: configuration)
                    #expect((connection != nil) == isTaken, "\(origin)")
                }
            }
        }

        @Test func `a server does not start with an invalid origin`() async throws {
            let server = WebSocketServer.echo { $0.origins.allowed = ["example.org"] }
            await #expect(throws: WebSocketError.self) { try await server.withRunning { _ in } }
        }
    }
}
