import Holdfast
import HoldfastServer
import ScriptedPeers
import Testing

extension SocketTests {
    /// Every way in which connecting fails, and the error that the app gets.
    @Suite struct ConnectErrorsTests {
        @Test func `a port on which no server listens is unreachable`() async {
            let url = "ws://127.0.0.1:1/feed"
            let error = await #expect(throws: WebSocketError.self) { try await WebSocketConnection.connect(to: url) }
            #expect(error?.code == .unreachable)
            #expect(error?.isRetryable == true)
            #expect(error?.description.hasPrefix("could not connect to \(url): connection refused") == true)
        }

        @Test func `a host that does not exist is unresolved`() async {
            // RFC 6761 §6.4: no name server knows a name under `invalid`.
            let error = await #expect(throws: WebSocketError.self) {
                try await WebSocketConnection.connect(to: "ws://nonexistent.invalid/")
            }
            #expect(error?.code == .unresolved)
            #expect(error?.isRetryable == true)
            #expect(error?.description.contains("nonexistent.invalid") == true)
        }

        @Test(
            arguments: [
                "", "127.0.0.1", "http://127.0.0.1/", "ws://", "ws://127.0.0.1:99999/", "ws://user:hunter2@127.0.0.1/",
                "ws://127.0.0.1/#part", "ws://127.0.0.1/ü",
            ])
        func `a URL that is not a WebSocket URL is invalid`(url: String) async {
            let error = await #expect(throws: WebSocketError.self) { try await WebSocketConnection.connect(to: url) }
            #expect(error?.code == .invalidURL)
            #expect(error?.isRetryable == false)
            #expect(error?.description.contains("hunter2") == false)
        }

        @Test(
            arguments: [
                ["Upgrade": "h2c"], ["Sec-WebSocket-Key": "mine"], ["X": "a\r\nInjected: b"], ["No Name": "x"], ["Content-Length": "5"],
            ] as [HeaderFields])
        func `header fields that may not be sent are an invalid configuration`(headers: HeaderFields) async {
            let configuration = WebSocketConfiguration.with { $0.headers = headers }
            let error = await #expect(throws: WebSocketError.self) {
                try await WebSocketConnection.connect(to: "ws://127.0.0.1:1/", configuration: configuration)
            }
            #expect(error?.code == .invalidConfiguration)
            #expect(error?.isRetryable == false)
        }

        @Test(
            arguments: [
                (400, false), (401, false), (403, false), (404, false), (408, true), (429, true), (500, true), (501, false), (503, true),
            ])
        func `the status of a refusal decides whether a retry makes sense`(status: Int, isRetryable: Bool) async throws {
            let server = WebSocketServer { _ in
                .refuse(status: status, "no")
            } handler: { _, _ in
            }
            try await server.withRunning { server in
                let error = await #expect(throws: WebSocketError.self) { try await WebSocketConnection.connect(to: server.url()) }
                #expect((error?.code, error?.httpStatus) == (.refused, status))
                #expect(error?.isRetryable == isRetryable)
                #expect(error?.description.hasSuffix("; may be retried") == isRetryable)
            }
        }

        @Test func `no error description contains a secret`() async throws {
            let (token, password) = ("tok3n-in-the-query", "Bearer s3cr3t")
            let configuration = WebSocketConfiguration.with {
                $0.headers = ["Authorization": password, "Cookie": "session=\(password)"]
                $0.timeouts.handshake = .seconds(1)
            }
            let scripts: [@Sendable (ScriptedPeer) async throws -> Void] = [
                { _ in },
                { try await $0.send("HTTP/1.1 401 Unauthorized\r\nSet-Cookie: session=\(password)\r\nContent-Length: 0\r\n\r\n") },
                { try await $0.send("nonsense\r\n\r\n") },
                { _ = await $0.readToEnd() },
                { try await $0.acceptUpgrade() },
                { try await $0.acceptUpgrade(then: [0xFF]) },
                { try await $0.acceptUpgrade(then: WireFrame.close(.policyViolation).bytes(to: .client)) },
            ]
            for script in scripts {
                try await withScriptedServer(script) { url in
                    do throws(WebSocketError) {
                        let connection = try await WebSocketConnection.connect(
                            to: "\(url)feed?token=\(token)", configuration: configuration)
                        if let error = await connection.end() { throw error }
                        Issue.record("the connection ended without an error")
                    } catch {
                        for text in ["\(error)", "\(error.responseHeaders)", String(reflecting: error.code)] {
                            #expect(!text.contains(token) && !text.contains("s3cr3t"), "\(text)")
                        }
                    }
                }
            }
        }
    }
}
