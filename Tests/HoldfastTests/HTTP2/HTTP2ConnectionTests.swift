import Holdfast
import HoldfastServer
import ScriptedPeers
import Testing

extension SocketTests {
    /// RFC 8441 between our client and servers that are ours or scripted, without TLS.
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

        /// Waits until the server counts so many TCP connections and WebSockets; the time limit of the suite bounds it.
        private func settle(_ server: RunningServer, at count: Int) async throws {
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
                try await settle(server, at: 2)
                try await sockets[4].send(.text("still here"))
                try await sockets[4].expect(.text("still here"))
                #expect(await sockets[4].close().isClean)
                try await settle(server, at: 0)
            }
        }

        @Test func `what the server allows is kept, and more WebSockets get another TCP connection`() async throws {
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

        @Test func `one that nobody reads does not stop the other, on either side`() async throws {
            let server = WebSocketServer(configuration: .bothVersions) { connection, request in
                switch request.path {
                case "/deaf": _ = await connection.transport.ended()
                case "/flood": while true { try await connection.send(block(0)) }
                default: for try await message in connection.messages { try await connection.send(message) }
                }
            }
            try await server.withRunning { server in
                let deaf = try await WebSocketConnection.connect(to: server.url("/deaf"), configuration: configuration)
                let flood = try await WebSocketConnection.connect(to: server.url("/flood"), configuration: configuration)
                let echo = try await WebSocketConnection.connect(to: server.url("/echo"), configuration: configuration)
                #expect(server.connectionCount == 4)
                // As much as both ends hold for one stream, and no more: then the sender has to wait.
                var count = 0
                while count < 1000, try deaf.transport.offer(block(count)) {
                    count += 1
                    await Task.yield()
                }
                #expect(count < 1000)
                for number in 0..<50 {
                    try await echo.send(block(number))
                    try await echo.expect(block(number))
                }
                for socket in [deaf, flood] { socket.transport.abort() }
                await echo.close()
            }
        }

        @Test func `the server's app sees which version it was, and so does the client`() async throws {
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

        @Test func `a refusal comes with its status, its fields and its body`() async throws {
            let server = WebSocketServer(configuration: .bothVersions) { _ in
                .refuse(HTTPResponse(status: 503, headers: ["Retry-After": "7"], body: Array("full".utf8)))
            } handler: { _, _ in
            }
            try await server.withRunning { server in
                let error = await #expect(throws: WebSocketError.self) { try await connect(server) }
                #expect(error?.transport.response?.status == 503 && error?.responseHeaders["retry-after"] == "7")
                #expect(error?.code == .refused && error?.body == Array("full".utf8) && error?.isRetryable == true)
                try await settle(server, at: 0)
            }
        }

        @Test func `a server that shuts down says so to each`() async throws {
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

        @Test func `after GOAWAY new WebSockets get another connection, and the old ones go on`() async throws {
            try await withScriptedServer { peer in
                try await peer.beginHTTP2()
                _ = try await peer.http2(.headers)
                try await peer.send(HTTP2Wire.accepted(stream: 1) + HTTP2Wire.goAway(last: 1))
                _ = try? await peer.http2(.data)
            } client: { url in
                let old = try await WebSocketConnection.connect(to: url, configuration: configuration)
                // The scripted server takes the next connection when the old WebSocket has said something.
                async let new = WebSocketConnection.connect(to: url, configuration: configuration)
                try await old.send(.text("still here"))
                let other = try await new
                #expect(await old.end()?.code == .lost)
                other.transport.abort()
            }
        }

        @Test func `a request that the server did not touch may be tried again`() async throws {
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

        @Test func `one that shares a connection is tried again on another at once`() async throws {
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
                // Sent until the scripted server, past the second request, has taken one.
                while first.transport.closeRecord == nil {
                    try? await first.send(.text("go on"))
                    try await Task.sleep(for: .milliseconds(5))
                }
                first.transport.abort()
                try await second.transport.abort()
            }
        }

        @Test func `a reset ends one WebSocket, and says how`() async throws {
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

        @Test func `a server without WebSockets over HTTP 2 is told apart`() async throws {
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
        func `settings that do not come, and answers, have a deadline`(hasSettings: Bool) async throws {
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

        @Test func `whoever waits for the connection of another does so as long as it may itself`() async throws {
            let (begun, begin) = AsyncStream.makeStream(of: Void.self)
            try await withScriptedServer { peer in
                _ = try await peer.read(HTTP2Wire.preface)
                begin.yield()
                _ = await peer.readToEnd()
            } client: { url in
                let patient = WebSocketConfiguration.with { ($0.httpVersion, $0.timeouts.handshake) = (.http2, .seconds(3600)) }
                let first = Task { try await WebSocketConnection.connect(to: url, configuration: patient) }
                for await _ in begun { break }
                var hasty = configuration
                (hasty.timeouts.connect, hasty.timeouts.handshake) = (.milliseconds(50), .milliseconds(50))
                let error = await #expect(throws: WebSocketError.self) {
                    try await WebSocketConnection.connect(to: url, configuration: hasty)
                }
                #expect(error?.code == .timedOut)
                first.cancel()
                #expect(await #expect(throws: WebSocketError.self) { try await first.value }?.code == .cancelled)
            }
        }

        @Test func `a server that speaks HTTP 1 only is an error, not a wait`() async throws {
            try await WebSocketServer.echo().withRunning { server in
                let error = await #expect(throws: WebSocketError.self) { try await connect(server) }
                #expect(error?.code == .invalidHandshake || error?.code == .lost)
            }
        }

        @Test func `a server that speaks HTTP 2 only drops whoever does not`() async throws {
            try await WebSocketServer.echo { $0.httpVersion = .http2 }.withRunning { server in
                let error = await #expect(throws: WebSocketError.self) { try await WebSocketConnection.connect(to: server.url()) }
                #expect(error?.code == .lost)
            }
        }

        @Test func `whoever is cancelled does not take the others along`() async throws {
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
                try await settle(server, at: 0)
            }
        }
    }
}

extension WebSocketServerConfiguration {
    /// Both versions.
    static var bothVersions: WebSocketServerConfiguration {
        var configuration = WebSocketServerConfiguration()
        configuration.httpVersion = .automatic
        return configuration
    }
}
