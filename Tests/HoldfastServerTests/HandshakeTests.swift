import Holdfast
import HoldfastServer
import ScriptedPeers
import Testing

extension SocketTests {
    /// Accepted and refused handshakes, and the request that the hook gets.
    @Suite struct HandshakeTests {
        @Test func `the hook and the handler get the request`() async throws {
            let (requests, asked) = AsyncStream.makeStream(of: UpgradeRequest.self)
            let server = WebSocketServer { request in
                asked.yield(request)
                return .accept(subprotocol: "v2", headers: ["X-Node": "7"])
            } handler: { _, request in
                asked.yield(request)
            }
            try await server.withRunning { server in
                var configuration = WebSocketConfiguration()
                (configuration.subprotocols, configuration.headers) = (["v1", "v2"], ["Authorization": "Bearer x"])
                let connection = try await WebSocketConnection.connect(to: server.url("/room/7?since=3"), configuration: configuration)
                #expect(connection.subprotocol == "v2")
                #expect(connection.response.headers["x-node"] == "7")
                var iterator = requests.makeAsyncIterator()
                for _ in 1...2 {
                    let request = try #require(await iterator.next())
                    #expect((request.path, request.query) == ("/room/7", "since=3"))
                    #expect(request.headers["authorization"] == "Bearer x")
                    #expect(request.subprotocols == ["v1", "v2"])
                    #expect(request.remoteAddress?.contains("127.0.0.1") == true)
                    #expect("\(request)" == "GET /room/7?…", "the query may be secret")
                }
            }
        }

        @Test func `a client that requires a subprotocol refuses a server that picks none`() async throws {
            let server = WebSocketServer { _ in
                .accept()
            } handler: { connection, _ in
                for try await _ in connection.messages {}
            }
            try await server.withRunning { server in
                var configuration = WebSocketConfiguration()
                configuration.subprotocols = ["v1"]
                await (try WebSocketConnection.connect(to: server.url("/"), configuration: configuration)).close()
                configuration.requiresSubprotocol = true
                let error = await #expect(throws: WebSocketError.self) {
                    try await WebSocketConnection.connect(to: server.url("/"), configuration: configuration)
                }
                #expect(error?.code == .noSubprotocol && error?.isRetryable == false)
                final class Ignoring: InlineHandler {
                    func received(_ kind: MessageKind, _ bytes: RawSpan, on socket: InlineSocket) {}
                }
                let inline = await #expect(throws: WebSocketError.self) {
                    try await InlineConnection.connect(to: server.url("/"), configuration: configuration) { Ignoring() }
                }
                #expect(inline?.code == .noSubprotocol)
            }
        }

        @Test func `a refusal has the status, the fields and the body of the hook`() async throws {
            let server = WebSocketServer { request in
                .refuse(HTTPResponse(status: 403, headers: ["X-Why": "members only"], body: Array("sorry, \(request.path)".utf8)))
            } handler: { _, _ in
            }
            try await server.withRunning { server in
                let request = String(decoding: try ScriptedPeer.upgradeRequest("/club"), as: UTF8.self)
                let (head, body) = try await ScriptedPeer.ask(server, request)
                #expect((head.status, head.reason, body) == (403, "Forbidden", "sorry, /club"))
                #expect(head.headers["x-why"] == "members only")
                #expect((head.headers["content-length"], head.headers["connection"]) == ("12", "close"))
            }
        }

        @Test func `choosing a subprotocol that was not offered is an error of the server`() async throws {
            let server = WebSocketServer { _ in
                .accept(subprotocol: "v9")
            } handler: { _, _ in
            }
            try await server.withRunning { server in
                let request = String(decoding: try ScriptedPeer.upgradeRequest(), as: UTF8.self)
                #expect(try await ScriptedPeer.ask(server, request).head.status == 500)
            }
        }

        @Test func `a hook that takes too long is cancelled`() async throws {
            let (ends, ended) = AsyncStream.makeStream(of: Bool.self)
            let server = WebSocketServer(configuration: .with { $0.timeouts.handshake = .seconds(1) }) { _ in
                // The sleep ends with the cancellation.
                try? await Task.sleep(for: .seconds(3600))
                ended.yield(Task.isCancelled)
                return .accept
            } handler: { _, _ in
                Issue.record("the handshake has timed out")
            }
            try await server.withRunning { server in
                let peer = try await ScriptedPeer.connect(to: server.port)
                try await peer.send(try ScriptedPeer.upgradeRequest())
                #expect(await peer.readToEnd().isEmpty)
                for await isCancelled in ends {
                    #expect(isCancelled)
                    break
                }
            }
        }

        @Test func `an old version gets 426 and the supported version`() async throws {
            try await WebSocketServer.echo().withRunning { server in
                let peer = try await ScriptedPeer.connect(to: server.port)
                let head = try await peer.upgrade(headers: ["Sec-WebSocket-Version": "8"])
                #expect(head.status == 426)
                #expect(head.headers["sec-websocket-version"] == "13")
                #expect(head.headers["upgrade"] == "websocket")
            }
        }

        @Test(
            arguments: [
                ("no key", ["Sec-WebSocket-Key": "short"], 400), ("no Connection: Upgrade", ["Connection": "keep-alive"], 400),
                ("a body", ["Content-Length": "5"], 400), ("a bad subprotocol", ["Sec-WebSocket-Protocol": "a b"], 400),
                ("extensions that break the grammar", ["Sec-WebSocket-Extensions": ";;"], 400),
            ] as [(String, HeaderFields, Int)])
        func `an invalid upgrade request is refused`(name: String, headers: HeaderFields, status: Int) async throws {
            try await WebSocketServer.echo().withRunning { server in
                let request = String(decoding: try ScriptedPeer.upgradeRequest(headers: headers), as: UTF8.self)
                #expect(try await ScriptedPeer.ask(server, request).head.status == status)
            }
        }

        @Test(
            arguments: [
                ("garbage", "\u{1}\u{2}\u{3} hello\r\n\r\n", 400),
                ("a TLS client on the wrong port", "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\r\n", 400),
                ("an endless line", "GET /" + String(repeating: "x", count: 2000), 431),
                ("endless headers", "GET / HTTP/1.1\r\n" + String(repeating: "A: b\r\n", count: 300), 431),
                ("HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
                ("POST that asks for an upgrade", "POST / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", 405),
            ])
        func `invalid HTTP is refused with a status, and the server continues`(name: String, request: String, status: Int) async throws {
            try await WebSocketServer.echo { $0.limits.head = 1024 }.withRunning { server in
                #expect(try await ScriptedPeer.ask(server, request).head.status == status)
                try await WebSocketConnection.withConnection(to: server.url()) { connection in
                    try await connection.send(.text("still here"))
                    for try await message in connection.messages {
                        #expect(message == .text("still here"))
                        break
                    }
                }
            }
        }

        @Test(arguments: ["", "GET / HT", "GET / HTTP/1.1\r\nHost: x\r\nX: "])
        func `a slow request is dropped at the deadline`(start: String) async throws {
            try await WebSocketServer.echo { ($0.timeouts.handshake, $0.limits.head) = (.milliseconds(100), .max) }.withRunning { server in
                let peer = try await ScriptedPeer.connect(to: server.port)
                if !start.isEmpty {
                    try? await peer.send(start)
                    // The client sends slowly but regularly.
                    while !Task.isCancelled, (try? await peer.send("x")) != nil {}
                }
                #expect(await peer.readToEnd().isEmpty)
            }
        }

        @Test func `a connection beyond the limit gets 503, and is accepted after another has closed`() async throws {
            try await WebSocketServer.echo { $0.maximumConnections = 2 }.withRunning { server in
                let first = try await ScriptedPeer.open(server)
                let second = try await ScriptedPeer.open(server)
                let error = await #expect(throws: WebSocketError.self) { try await WebSocketConnection.connect(to: server.url()) }
                #expect((error?.code, error?.httpStatus, error?.isRetryable) == (.refused, 503, true))
                #expect(error?.responseHeaders["retry-after"] == "5")
                // A full server does not check the origin, because a permanent refusal would keep the page away later.
                var page = WebSocketConfiguration()
                page.headers["Origin"] = "https://elsewhere.example"
                let other = await #expect(throws: WebSocketError.self) {
                    try await WebSocketConnection.connect(to: server.url(), configuration: page)
                }
                #expect((other?.httpStatus, other?.isRetryable) == (503, true))
                try await first.send(.close(.normal), to: .server)
                #expect(try await first.readClose().code == .normal)
                #expect(await first.readToEnd().isEmpty)
                await first.close()
                // The server may notice the end of TCP later.
                while true {
                    do {
                        try await WebSocketConnection.withConnection(to: server.url()) { _ in }
                        break
                    } catch let error as WebSocketError where error.httpStatus == 503 {}
                }
                await second.close()
            }
        }
    }
}
