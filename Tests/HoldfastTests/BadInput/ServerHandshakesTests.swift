import Holdfast
import HoldfastServer
import ScriptedPeers
import Testing

extension SocketTests {
    /// Invalid answers to the upgrade.
    @Suite struct ServerHandshakesTests {
        @Test(
            arguments: [
                ("garbage", "220 smtp.example ESMTP\r\n\r\n", .malformedHead),
                ("HTTP/2", "HTTP/2 101 \r\n\r\n", .unsupportedHTTPVersion),
                ("a line without a colon", "HTTP/1.1 101 OK\r\nUpgrade websocket\r\n\r\n", .malformedHead),
                ("an endless line", "HTTP/1.1 101 " + String(repeating: "x", count: 2000), .headTooLarge),
                ("endless headers", "HTTP/1.1 101 OK\r\n" + String(repeating: "A: b\r\n", count: 300), .headTooLarge),
                ("endless interim answers", String(repeating: "HTTP/1.1 103 Early Hints\r\n\r\n", count: 100) + "\0", .malformedHead),
                ("no Upgrade", "HTTP/1.1 101 OK\r\nConnection: Upgrade\r\n\r\n", .invalidUpgrade),
            ] as [(String, String, HandshakeFailure.Kind)])
        func `an invalid answer to the handshake is refused`(name: String, answer: String, kind: HandshakeFailure.Kind) async throws {
            try await withScriptedServer { peer in
                _ = try await peer.readRequest()
                try await peer.send(answer)
                _ = await peer.readToEnd()
            } client: { url in
                let configuration = WebSocketConfiguration.with { $0.limits.head = 1024 }
                let error = await #expect(throws: WebSocketError.self) {
                    try await WebSocketConnection.connect(to: url, configuration: configuration)
                }
                #expect(error?.code == .invalidHandshake)
                #expect((error?.underlying as? HandshakeFailure)?.kind == kind)
                #expect(error?.description.contains(url) == true)
            }
        }

        @Test(
            arguments: [
                ("Sec-WebSocket-Extensions", "x-webkit-deflate-frame", .invalidExtension),
                ("Sec-WebSocket-Extensions", "permessage-deflate; server_max_window_bits=7", .invalidExtension),
                ("Sec-WebSocket-Extensions", "permessage-deflate, permessage-deflate", .invalidExtension),
                ("Sec-WebSocket-Protocol", "chat", .invalidSubprotocol),
            ] as [(String, String, HandshakeFailure.Kind)])
        func `a server that selects what was not offered is refused`(name: String, value: String, kind: HandshakeFailure.Kind) async throws
        {
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade([name: value])
                _ = await peer.readToEnd()
            } client: { url in
                let configuration = WebSocketConfiguration.with { $0.subprotocols = ["v1"] }
                let error = await #expect(throws: WebSocketError.self) {
                    try await WebSocketConnection.connect(to: url, configuration: configuration)
                }
                #expect(error?.code == .invalidHandshake)
                #expect((error?.underlying as? HandshakeFailure)?.kind == kind)
            }
        }

        @Test func `the handshake deadline also ends an answer that arrives byte by byte`() async throws {
            try await withScriptedServer { peer in
                try? await peer.send("HTTP/1.1 101 OK\r\nX: ")
                // The loop ends only when the client closes the connection.
                while !Task.isCancelled, (try? await peer.send("x")) != nil {}
            } client: { url in
                let configuration = WebSocketConfiguration.with {
                    ($0.timeouts.handshake, $0.limits.head) = (.milliseconds(100), .max)
                }
                let error = await #expect(throws: WebSocketError.self) {
                    try await WebSocketConnection.connect(to: url, configuration: configuration)
                }
                #expect(error?.code == .timedOut)
            }
        }

        @Test func `a server that closes in the middle of its answer is a lost connection`() async throws {
            try await withScriptedServer { peer in
                try await peer.send("HTTP/1.1 101 Switching")
            } client: { url in
                let error = await #expect(throws: WebSocketError.self) { try await WebSocketConnection.connect(to: url) }
                #expect(error?.code == .lost)
                #expect(error?.isRetryable == true)
            }
        }

        @Test func `a refusal whose body never ends is reported with the part that arrived`() async throws {
            try await withScriptedServer { peer in
                _ = try await peer.readRequest()
                try await peer.send("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 100\r\n\r\nback soon")
                _ = await peer.readToEnd()
            } client: { url in
                let configuration = WebSocketConfiguration.with { $0.timeouts.handshake = .seconds(1) }
                let error = await #expect(throws: WebSocketError.self) {
                    try await WebSocketConnection.connect(to: url, configuration: configuration)
                }
                #expect((error?.code, error?.httpStatus) == (.refused, 503))
                #expect(error.map { String(decoding: $0.body, as: UTF8.self) } == "back soon")
                #expect(error?.isRetryable == true)
            }
        }

        @Test func `only the first bytes of a refusal's body are kept`() async throws {
            try await withScriptedServer { peer in
                _ = try await peer.readRequest()
                try? await peer.send("HTTP/1.1 400 Bad Request\r\n\r\n" + String(repeating: "x", count: 100_000))
                _ = await peer.readToEnd()
            } client: { url in
                let configuration = WebSocketConfiguration.with { $0.limits.refusalBody = 10 }
                let error = await #expect(throws: WebSocketError.self) {
                    try await WebSocketConnection.connect(to: url, configuration: configuration)
                }
                #expect(error?.body == Array("xxxxxxxxxx".utf8))
            }
        }

        @Test func `interim answers are skipped`() async throws {
            try await withScriptedServer { peer in
                let request = try await peer.readRequest()
                try await peer.send("HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n")
                try await peer.send(try ResponseHead(status: 101, headers: ScriptedPeer.acceptance(of: request)).encoded())
                try await peer.answerClose(to: .client)
            } client: { url in
                try await WebSocketConnection.withConnection(to: url) { #expect($0.response.status == 101) }
            }
        }
    }
}
