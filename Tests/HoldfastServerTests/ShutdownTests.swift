import Holdfast
import HoldfastServer
import ScriptedPeers
import ServiceLifecycle
import Testing

extension SocketTests {
    /// The end of handlers, connections and the server.
    @Suite struct ShutdownTests {
        struct Failed: Error {}

        @Test func `a handler that returns closes with 1000, one that throws with 1011`() async throws {
            let server = WebSocketServer { _, request in
                if request.path == "/bad" { throw Failed() }
            }
            try await server.withRunning { server in
                for (path, code) in [("/good", CloseCode.normal), ("/bad", .internalError)] {
                    let peer = try await ScriptedPeer.open(server, path)
                    #expect(try await peer.answerClose(to: .server) == CloseFrame(code))
                }
            }
        }

        @Test func `the messages of a handler leave before its close frame`() async throws {
            let server = WebSocketServer { connection, _ in
                for number in 1...3 { try await connection.send(.text("\(number)")) }
                throw Failed()
            }
            try await server.withRunning { server in
                let peer = try await ScriptedPeer.open(server)
                for number in 1...3 { #expect(try await peer.readFrame() == .text("\(number)")) }
                #expect(try await peer.answerClose(to: .server).code == .internalError)
            }
        }

        @Test func `a graceful shutdown sends 1001 to every client and waits for handlers`() async throws {
            let (starts, started) = AsyncStream.makeStream(of: Void.self)
            let (ends, ended) = AsyncStream.makeStream(of: Void.self)
            let server = WebSocketServer { connection, _ in
                started.yield()
                for try await _ in connection.messages {}
                await Task.yield()
                ended.yield()
            }
            let connections = try await server.withRunning { server in
                var (connections, start) = ([] as [WebSocketConnection], starts.makeAsyncIterator())
                for _ in 1...3 {
                    connections.append(try await WebSocketConnection.connect(to: server.url()))
                    await start.next()
                }
                return connections
            }
            ended.finish()
            #expect(await ends.reduce(0) { count, _ in count + 1 } == 3)
            for connection in connections {
                for try await _ in connection.messages {}
                #expect(connection.closeRecord?.received == CloseFrame(.goingAway, reason: "the server shuts down"))
                #expect(connection.closeRecord?.closedFirst == .remote)
            }
        }

        @Test func `a client that does not answer the close frame is dropped after the grace period`() async throws {
            let configuration = WebSocketServerConfiguration.with {
                ($0.timeouts.close, $0.shutdownGrace) = (.seconds(3600), .milliseconds(100))
            }
            let server = WebSocketServer(configuration: configuration) { connection, _ in
                try await connection.send(.text("welcome"))
                for try await _ in connection.messages {}
            }
            let peer = try await server.withRunning { server in
                let peer = try await ScriptedPeer.open(server)
                #expect(try await peer.readFrame() == .text("welcome"))
                return peer
            }
            #expect(try await peer.readClose().code == .goingAway)
            #expect(await peer.readToEnd().isEmpty)
        }

        @Test func `a client in its handshake is dropped`() async throws {
            let configuration = WebSocketServerConfiguration.with { $0.timeouts.handshake = .seconds(3600) }
            let server = WebSocketServer(configuration: configuration) { _, _ in }
            let peer = try await server.withRunning { server in
                let peer = try await ScriptedPeer.connect(to: server.port)
                try await peer.send("GET / HT")
                return peer
            }
            #expect(await peer.readToEnd().isEmpty)
        }

        @Test func `the server does not listen after the shutdown`() async throws {
            let url = try await WebSocketServer.echo().withRunning { $0.url() }
            await #expect(throws: WebSocketError.self) { try await WebSocketConnection.connect(to: url) }
        }

        @Test func `a cancelled server drops its clients`() async throws {
            let (servers, listening) = AsyncStream.makeStream(of: RunningServer.self)
            let running = Task { try await WebSocketServer.echo().run { listening.yield($0) } }
            for await server in servers {
                let peer = try await ScriptedPeer.open(server)
                running.cancel()
                _ = await peer.readToEnd()
                break
            }
            await #expect(throws: CancellationError.self) { try await running.value }
        }

        @Test func `a server ends with its service group`() async throws {
            let (servers, listening) = AsyncStream.makeStream(of: RunningServer.self)
            let (closings, closed) = AsyncStream.makeStream(of: CloseFrame.self)
            let group = ServiceGroup(services: [Announcing(server: .echo(), listening: listening)])
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                tasks.addTask { try await group.run() }
                for await server in servers {
                    let peer = try await ScriptedPeer.open(server)
                    try await peer.send(.text("hello"), to: .server)
                    #expect(try await peer.readFrame() == .text("hello"))
                    tasks.addTask { closed.yield(try await peer.answerClose(to: .server)) }
                    break
                }
                await group.triggerGracefulShutdown()
                try await tasks.waitForAll()
            }
            closed.finish()
            #expect(await closings.first { _ in true }?.code == .goingAway)
        }

        @Test func `a client in a service group closes with 1001 when the group shuts down`() async throws {
            let (closings, closed) = AsyncStream.makeStream(of: CloseFrame.self)
            let server = WebSocketServer { connection, _ in
                try await connection.send(.text("welcome"))
                for try await _ in connection.messages {}
                if let frame = connection.closeRecord?.received { closed.yield(frame) }
            }
            try await server.withRunning { server in
                let socket = WebSocket(server.url())
                let group = ServiceGroup(services: [Client(socket: socket)])
                try await withThrowingTaskGroup(of: Void.self) { tasks in
                    tasks.addTask { try await group.run() }
                    for try await _ in socket.messages { break }
                    await group.triggerGracefulShutdown()
                    try await tasks.waitForAll()
                }
            }
            #expect(await closings.first { _ in true } == CloseFrame(.goingAway))
        }

        private struct Client: Service {
            let socket: WebSocket

            func run() async throws { try await cancelWhenGracefulShutdown { try await socket.run() } }
        }

        /// A server that reports its address.
        private struct Announcing: Service {
            let server: WebSocketServer
            let listening: AsyncStream<RunningServer>.Continuation

            func run() async throws { try await server.run { listening.yield($0) } }
        }

        @Test func `an address in use is an error`() async throws {
            try await WebSocketServer.echo().withRunning { server in
                let error = await #expect(throws: WebSocketError.self) {
                    try await WebSocketServer.echo { $0.port = server.port }.withRunning { _ in }
                }
                #expect(error?.code == .unreachable)
                #expect(error?.description.contains("127.0.0.1:\(server.port)") == true)
            }
        }
    }
}
