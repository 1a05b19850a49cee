import Holdfast
import HoldfastServer
import HoldfastTesting
import WebSocketRuntime
import NIOPosix
import ScriptedPeers
import Testing

extension SocketTests {
    /// Tasks that run on the event loop of their connection.
    @Suite struct EventLoopTests {
        /// Whether this code runs on one of the event loops.
        private static var isOnLoop: Bool { MultiThreadedEventLoopGroup.currentEventLoop != nil }

        /// Runs a handler that records after each step whether it runs on an event loop: "1" for yes, "0" for no.
        private static func places(_ placement: HandlerPlacement?) async throws -> String {
            let (reports, reported) = AsyncStream.makeStream(of: String.self)
            var configuration = WebSocketServerConfiguration()
            if let placement { configuration.handlers = placement }
            let server = WebSocketServer(configuration: configuration) { connection, _ in
                var places = ""
                func note() { places += isOnLoop ? "1" : "0" }
                note()
                var messages = connection.messages.makeAsyncIterator()
                for _ in 1...3 {
                    guard let message = try await messages.next() else { break }
                    note()
                    try await connection.send(message)
                    note()
                }
                _ = try await connection.ping()
                note()
                try await connection.send(.binary, pieces: AsyncStream<[UInt8]> { $0.finish() })
                note()
                await connection.close()
                note()
                reported.yield(places)
            }
            return try await server.withRunning { server in
                try await WebSocketConnection.withConnection(to: server.url()) { connection in
                    for number in 1...3 {
                        try await connection.send(.text("\(number)"))
                        try await connection.expect(.text("\(number)"))
                    }
                    #expect(await connection.end() == nil)
                }
                return await reports.first { _ in true } ?? ""
            }
        }

        @Test func `a server's handlers run on the event loop by default`() async throws {
            for placement in [nil, HandlerPlacement.eventLoop] {
                let places = try await Self.places(placement)
                #expect(places == "1111111111")
            }
        }

        @Test func `a server's handlers run on the pool if configured`() async throws {
            let places = try await Self.places(.pool)
            #expect(places == "0000000000")
        }

        @Test func `a client's closure runs on the event loop, returns its result and throws its error`() async throws {
            struct Failed: Error {}
            try await WebSocketServer.echo().withRunning { server in
                try await WebSocketConnection.withConnection(to: server.url()) { connection in
                    #expect(!Self.isOnLoop)
                    let isAtOnce = await connection.onEventLoop { _ in Self.isOnLoop }
                    #expect(isAtOnce)
                    let answers = try await connection.onEventLoop { connection in
                        var answers: [Message] = []
                        for number in 1...100 {
                            try await connection.send(.text("\(number)"))
                            guard let answer = try await connection.next() else { break }
                            #expect(Self.isOnLoop)
                            answers.append(answer)
                        }
                        return answers
                    }
                    #expect(!Self.isOnLoop)
                    #expect(answers == (1...100).map { .text("\($0)") })
                    await #expect(throws: Failed.self) { try await connection.onEventLoop { _ in throw Failed() } }
                }
            }
        }

        @Test func `a connection without an event loop runs the closure where it is called`() async throws {
            let (client, server) = MemoryTransport.pair(configuration: WebSocketConfiguration())
            try await WebSocketConnection(client).onEventLoop { connection in
                #expect(!Self.isOnLoop)
                try await connection.send(.text("hello"))
            }
            #expect(try await server.message() == .text("hello"))
        }

        @Test func `a task that is cancelled on the event loop loses no message`() async throws {
            try await WebSocketServer.echo().withRunning { server in
                try await WebSocketConnection.withConnection(to: server.url()) { connection in
                    for number in 0..<300 {
                        let receiving = Task { try await connection.onEventLoop { try await $0.next() } }
                        try await connection.send(.text("\(number)"))
                        if number.isMultiple(of: 3) { await Task.yield() }
                        receiving.cancel()
                        let received: Message?
                        switch await receiving.result {
                        case .success(let message): received = message
                        case .failure: received = try await connection.next()
                        }
                        #expect(received == .text("\(number)"))
                    }
                }
            }
        }

        @Test func `a task that is always busy on the event loop does not block other tasks`() async throws {
            try await WebSocketServer.echo().withRunning { server in
                try await WebSocketConnection.withConnection(to: server.url()) { connection in
                    let isOver = LockedValue(false)
                    async let busy: Void = connection.onEventLoop { _ in
                        while !isOver.withLockedValue(\.self) { await Task.yield() }
                    }
                    for number in 1...100 {
                        try await connection.send(.text("\(number)"))
                        try await connection.expect(.text("\(number)"))
                    }
                    isOver.withLockedValue { $0 = true }
                    await busy
                }
            }
        }

        @Test func `a send on the event loop fails once the link is lost, even if messages wait for the app`() async throws {
            let (takes, taken) = AsyncStream.makeStream(of: Void.self)
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade()
                #expect(try await peer.readFrame().opcode == .ping)
                try await peer.send((0..<30).flatMap { WireFrame(.binary, [UInt8](repeating: $0, count: 5000)).bytes(to: .client) })
                for await _ in takes { break }
                try await peer.reset()
            } client: { url in
                let configuration = WebSocketConfiguration.with { ($0.limits.receiveBuffer, $0.timeouts.ping) = (1, .seconds(3600)) }
                let connection = try await WebSocketConnection.connect(to: url, configuration: configuration)
                let ping = Task { try await connection.ping() }
                try await connection.expect(.binary([UInt8](repeating: 0, count: 5000)))
                // By the next turn of the loop the second message waits for the app, and the others wait behind it.
                await connection.onEventLoop { _ in }
                taken.yield()
                // The ping fails when the link is lost.
                await #expect(throws: WebSocketError.self) { try await ping.value }
                let inside = await connection.onEventLoop { connection in await Self.failure { try await connection.send(.text("x")) } }
                let outside = await Self.failure { try await connection.send(.text("x")) }
                #expect(inside == .lost && outside == .lost)
                try await connection.expect(.binary([UInt8](repeating: 1, count: 5000)))
            }
        }

        private static func failure(_ body: () async throws -> Void) async -> TransportError.Code? {
            do {
                try await body()
                return nil
            } catch {
                return (error as? WebSocketError)?.code
            }
        }
    }
}
