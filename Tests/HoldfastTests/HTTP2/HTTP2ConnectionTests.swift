import Holdfast
import HoldfastServer
import ScriptedPeers
import Testing

extension SocketTests {
    /// WebSockets over HTTP/2 (RFC 8441) without TLS, between our client and our server or a scripted one.
    @Suite struct HTTP2ConnectionTests {
        private let configuration = WebSocketConfiguration.with { $0.httpVersion = .http2 }

        private func server(_ configure: (inout WebSocketServerConfiguration) -> Void = { _ in }) -> WebSocketServer {
            .echo {
                $0.httpVersion = .automatic
                configure(&$0)
            }
        }

        private func connect(_ server: RunningServer) async throws -> WebSocketConnection {
            try await WebSocketConnection.connect(to: server.url(), configuration: configuration)
        }

        /// Waits until the server counts this many TCP connections and WebSockets; the time limit of the suite bounds it.
        private func waitForConnections(_ server: RunningServer, at count: Int) async throws {
            while server.connectionCount != count { try await Task.sleep(for: .milliseconds(5)) }
        }

        @Test func `several WebSockets share one TCP connection, which ends with the last of them`() async throws {
            try await server().withRunning { server in
                let sockets = try await withThrowingTaskGroup(of: WebSocketConnection.self) { group in
                    for _ in 0..<5 { group.addTask { try await connect(server) } }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(server.connectionCount == 6)
                for (number, socket) in sockets.enumerated() { try await socket.send(.text("\(number)")) }
                for (number, socket) in sockets.enumerated() { try await socket.expect(.text("\(number)")) }
                for socket in sockets.dropLast() { #expect(await socket.close().isClean) }
                try await waitForConnections(server, at: 2)
                try await sockets[4].send(.text("still here"))
                try await sockets[4].expect(.text("still here"))
                #expect(await sockets[4].close().isClean)
                try await waitForConnections(server, at: 0)
            }
        }

        @Test func `WebSockets beyond the server's stream limit use another TCP connection`() async throws {
            try await server { $0.http2.maximumStreams = 2 }.withRunning { server in
                var sockets: [WebSocketConnection] = []
                for _ in 0..<5 { sockets.append(try await connect(server)) }
                #expect(server.connectionCount == 5 + 3)
                for socket in sockets {
                    try await socket.send(.text("hello"))
                    try await socket.expect(.text("hello"))
                }
                for socket in sockets { await socket.close() }
            }
        }

        @Test func `a WebSocket that nobody reads does not block another one, on either side`() async throws {
            let server = WebSocketServer(configuration: .bothVersions) { connection, request in
                switch request.path {
                case "/deaf": _ = await connection.transport.ended()
                case "/flood": while true { try await connection.send(block(0)) }
                default: for try await message in connection.messages { try await connection.send(message) }
                }
            }
            try await server.withRunning { server in
                let unread = try await WebSocketConnection.connect(to: server.url("/deaf"), configuration: configuration)
                let flood = try await WebSocketConnection.connect(to: server.url("/flood"), configuration: configuration)
                let echo = try await WebSocketConnection.connect(to: server.url("/echo"), configuration: configuration)
                #expect(server.connectionCount == 4)
                // Both ends buffer a limited amount for one stream; then the sender has to wait.
                var count = 0
                while count < 1000, try unread.transport.offer(block(count)) {
                    count += 1
                    await Task.yield()
                }
                #expect(count < 1000)
                for number in 0..<50 {
                    try await echo.send(block(number))
                    try await echo.expect(block(number))
                }
                for socket in [unread, flood] { socket.transport.abort() }
                await echo.close()
            }
        }

        @Test func `the server's app and the client see the HTTP version`() async throws {
            let (versions, version) = AsyncStream.makeStream(of: (Int, String, String?).self)
            let server = WebSocketServer(configuration: .bothVersions) { connection, request in
                version.yield((request.httpVersion, request.path, request.headers["host"]))
            }
            try await server.withRunning { server in
                var seen = versions.makeAsyncIterator()
                for (choice, expected) in [(HTTPVersion.http2, 2), (.http1, 1), (.automatic, 1)] {
                    let configuration = WebSocketConfiguration.with { $0.httpVersion = choice }
                    let socket = try await WebSocketConnection.connect(to: server.url("/a?b"), configuration: configuration)
                    let found = try #require(await seen.next())
                    #expect(found.0 == expected && found.1 == "/a" && found.2 == "127.0.0.1:\(server.port)")
                    #expect(socket.response.majorVersion == expected)
                    await socket.close()
                }
            }
        }

        @Test func `a refusal carries its status, its fields and its body`() async throws {
            let server = WebSocketServer(configuration: .bothVersions) { _ in
                .refuse(HTTPResponse(status: 503, headers: ["Retry-After": "7"], body: Array("full".utf8)))
            } handler: { _, _ in
            }
            try await server.withRunning { server in
                let error = await #expect(throws: WebSocketError.self) { try await connect(server) }
                #expect(error?.transport.response?.status == 503 && error?.responseHeaders["retry-after"] == "7")
                #expect(error?.code == .refused && error?.body == Array("full".utf8) && error?.isRetryable == true)
                try await waitForConnections(server, at: 0)
            }
        }

        @Test func `a server that shuts down sends a close frame to each WebSocket`() async throws {
            let (sockets, made) = AsyncStream.makeStream(of: WebSocketConnection.self)
            try await server().withRunning { server in
                for _ in 0..<3 { made.yield(try await connect(server)) }
            }
            made.finish()
            for await socket in sockets {
                _ = await socket.end()
                #expect(socket.closeRecord?.received?.code == .goingAway)
            }
        }

        @Test func `after GOAWAY new WebSockets use another connection, and the old ones continue`() async throws {
            try await withScriptedServer { peer in
                try await peer.beginHTTP2()
                _ = try await peer.http2(.headers)
                try await peer.send(HTTP2Wire.accepted(stream: 1) + HTTP2Wire.goAway(last: 1))
                _ = try? await peer.http2(.data)
            } client: { url in
                let old = try await WebSocketConnection.connect(to: url, configuration: configuration)
                // The scripted server accepts the next connection after it has received data from the old WebSocket.
                async let new = WebSocketConnection.connect(to: url, configuration: configuration)
                try await old.send(.text("still here"))
                let other = try await new
                #expect(await old.end()?.code == .lost)
                other.transport.abort()
            }
        }

        @Test func `a request that the server did not process may be retried`() async throws {
            for answer in [HTTP2Wire.reset(stream: 1, 7), HTTP2Wire.goAway(last: 0)] {
                try await withScriptedServer { peer in
                    try await peer.beginHTTP2()
                    _ = try await peer.http2(.headers)
                    try await peer.send(answer)
                    _ = await peer.readToEnd()
                } client: { url in
                    let error = await #expect(throws: WebSocketError.self) {
                        try await WebSocketConnection.connect(to: url, configuration: configuration)
                    }
                    #expect(error?.code == .lost && error?.isRetryable == true)
                }
            }
        }

        @Test func `a refused stream on a shared connection is retried at once on another connection`() async throws {
            try await withScriptedServer { peer in
                try await peer.beginHTTP2()
                _ = try await peer.http2(.headers)
                try await peer.send(HTTP2Wire.accepted(stream: 1))
                guard (try? await peer.http2(.headers)) != nil else { return }
                try await peer.send(HTTP2Wire.reset(stream: 3, 7))
                _ = try? await peer.http2(.data)
            } client: { url in
                let first = try await WebSocketConnection.connect(to: url, configuration: configuration)
                async let second = WebSocketConnection.connect(to: url, configuration: configuration)
                // The client sends until the scripted server, which reads the second request first, has read a message.
                while first.transport.closeRecord == nil {
                    try? await first.send(.text("go on"))
                    try await Task.sleep(for: .milliseconds(5))
                }
                first.transport.abort()
                try await second.transport.abort()
            }
        }

        @Test func `a stream reset ends one WebSocket, and the error names the reset code`() async throws {
            try await withScriptedServer { peer in
                try await peer.beginHTTP2()
                _ = try await peer.http2(.headers)
                try await peer.send(HTTP2Wire.accepted(stream: 1) + HTTP2Wire.reset(stream: 1, 2))
                _ = await peer.readToEnd()
            } client: { url in
                let socket = try await WebSocketConnection.connect(to: url, configuration: configuration)
                let error = await socket.end()
                #expect(error?.code == .lost && error?.description.contains("INTERNAL_ERROR") == true)
            }
        }

        @Test func `a server without WebSockets over HTTP 2 gives an error of its own`() async throws {
            try await withScriptedServer { peer in
                try await peer.beginHTTP2(HTTP2Wire.settingsWithoutWebSockets)
                _ = await peer.readToEnd()
            } client: { url in
                let error = await #expect(throws: WebSocketError.self) {
                    try await WebSocketConnection.connect(to: url, configuration: configuration)
                }
                #expect(error?.code == .invalidHandshake && error?.isRetryable == false)
                #expect(error?.description.contains("opens no WebSockets over HTTP/2") == true)
            }
        }

        @Test(arguments: [true, false])
        func `settings that do not arrive, and answers, have a deadline`(hasSettings: Bool) async throws {
            try await withScriptedServer { peer in
                if hasSettings { try await peer.beginHTTP2() }
                _ = await peer.readToEnd()
            } client: { url in
                var configuration = configuration
                configuration.timeouts.handshake = .milliseconds(100)
                let error = await #expect(throws: WebSocketError.self) {
                    try await WebSocketConnection.connect(to: url, configuration: configuration)
                }
                #expect(error?.code == .timedOut)
            }
        }

        @Test func `a connect that waits for another one's connection keeps its own deadline`() async throws {
            let (begun, begin) = AsyncStream.makeStream(of: Void.self)
            try await withScriptedServer { peer in
                _ = try await peer.read(HTTP2Wire.preface)
                begin.yield()
                _ = await peer.readToEnd()
            } client: { url in
                let longTimeouts = WebSocketConfiguration.with { ($0.httpVersion, $0.timeouts.handshake) = (.http2, .seconds(3600)) }
                let first = Task { try await WebSocketConnection.connect(to: url, configuration: longTimeouts) }
                for await _ in begun { break }
                var shortTimeouts = configuration
                (shortTimeouts.timeouts.connect, shortTimeouts.timeouts.handshake) = (.milliseconds(50), .milliseconds(50))
                let error = await #expect(throws: WebSocketError.self) {
                    try await WebSocketConnection.connect(to: url, configuration: shortTimeouts)
                }
                #expect(error?.code == .timedOut)
                first.cancel()
                #expect(await #expect(throws: WebSocketError.self) { try await first.value }?.code == .cancelled)
            }
        }

        @Test func `a server with HTTP 1 only is an error without a wait`() async throws {
            try await WebSocketServer.echo().withRunning { server in
                let error = await #expect(throws: WebSocketError.self) { try await connect(server) }
                #expect(error?.code == .invalidHandshake || error?.code == .lost)
            }
        }

        @Test func `a server with HTTP 2 only drops an HTTP 1 client`() async throws {
            try await WebSocketServer.echo { $0.httpVersion = .http2 }.withRunning { server in
                let error = await #expect(throws: WebSocketError.self) { try await WebSocketConnection.connect(to: server.url()) }
                #expect(error?.code == .lost)
            }
        }

        @Test func `a cancelled connect does not cancel the others`() async throws {
            try await server().withRunning { server in
                let first = Task {
                    withUnsafeCurrentTask { $0?.cancel() }
                    return try await connect(server)
                }
                let other = try await connect(server)
                let error = await #expect(throws: WebSocketError.self) { try await first.value }
                #expect(error?.code == .cancelled)
                try await other.send(.text("still here"))
                try await other.expect(.text("still here"))
                await other.close()
                try await waitForConnections(server, at: 0)
            }
        }
    }
}

extension WebSocketServerConfiguration {
    /// Accepts both HTTP versions.
    static var bothVersions: WebSocketServerConfiguration {
        var configuration = WebSocketServerConfiguration()
        configuration.httpVersion = .automatic
        return configuration
    }
}
