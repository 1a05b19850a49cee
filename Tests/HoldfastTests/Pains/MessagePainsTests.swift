import Holdfast
import HoldfastServer
import WebSocketRuntime
import ScriptedPeers
import Testing

extension SocketTests {
    /// Messages: limits, order, many senders, many frames.
    @Suite struct MessagePainsTests {
        @Test func `pain 10: a message of 1 MiB passes, one byte more is refused with 1009 and a clear error`() async throws {
            let limit = 1 << 20
            let (codes, closeCode) = AsyncStream.makeStream(of: CloseCode?.self)
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade()
                try await peer.send(WireFrame(.binary, [UInt8](repeating: 1, count: limit)), to: .client)
                try await peer.send(WireFrame(.binary, [UInt8](repeating: 2, count: limit + 1)), to: .client)
                closeCode.yield(try await peer.readClose().code)
            } client: { url in
                let connection = try await WebSocketConnection.connect(to: url)
                #expect(try await connection.next()?.byteCount == limit)
                let error = try #require(await connection.end())
                #expect(error.code == .protocolViolation)
                #expect((error.underlying as? ProtocolViolation)?.kind == .messageTooBig)
                #expect(error.description.contains("1048577") && error.description.contains("1048576"))
                #expect(error.description.contains("(limits.message)"), "the error names the setting")
                #expect(error.isRetryable, "the next connection need not get such a message")
                #expect(error.closeRecord?.sent?.code == .messageTooBig)
                #expect(error.closeRecord?.closedFirst == .local)
                for await code in codes {
                    #expect(code == .messageTooBig)
                    break
                }
            }
        }

        @Test func `pain 10: the limit counts all fragments together`() async throws {
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade()
                try await peer.send(WireFrame(.text, [UInt8](repeating: 97, count: 60), isFinal: false), to: .client)
                try await peer.send(WireFrame(.continuation, [UInt8](repeating: 97, count: 41)), to: .client)
                #expect(try await peer.readClose().code == .messageTooBig)
            } client: { url in
                let configuration = WebSocketConfiguration.with { $0.limits.message = 100 }
                let error = await (try WebSocketConnection.connect(to: url, configuration: configuration)).end()
                #expect((error?.underlying as? ProtocolViolation)?.kind == .messageTooBig)
            }
        }

        @Test func `pain 10: a message over the limit ends its connection, and ends the socket only if the policy says so`() async throws {
            let count = LockedValue(0)
            let server = WebSocketServer { connection, _ in
                let number = count.withLockedValue { count in
                    count += 1
                    return count
                }
                try await connection.send(number == 1 ? .binary([UInt8](repeating: 1, count: 101)) : .text("fine"))
                for try await _ in connection.messages {}
            }
            try await server.withRunning { server in
                func socket(_ change: (inout ReconnectPolicy) -> Void) -> WebSocket {
                    WebSocket(server.url()) { options in
                        options.connection.limits.message = 100
                        options.reconnect = ReconnectPolicy(backoff: Backoff(base: .milliseconds(10)), spacing: .zero)
                        change(&options.reconnect)
                    }
                }
                let (retrying, words) = (socket { _ in }, "message too big: 101 bytes, at most 100 are allowed (limits.message)")
                var causes: [WebSocketError] = []
                for await event in retrying.events {
                    if case .reconnecting(_, _, let cause) = event { causes.append(cause) }
                    if case .message(let message) = event {
                        #expect(message == .text("fine"))
                        break
                    }
                }
                #expect(causes.count == 1 && causes[0].closeRecord?.sent?.code == .messageTooBig)
                #expect(causes.allSatisfy { $0.description.contains(words) })
                await retrying.close()

                count.withLockedValue { $0 = 0 }
                var last: WebSocketEvent?
                for await event in socket({ $0.losses[.messageTooBig] = .final }).events { last = event }
                guard case .closed(let closure)? = last else { throw CancellationError() }
                #expect(closure.error?.description.contains(words) == true)
                #expect(count.withLockedValue(\.self) == 1)
            }
        }

        @Test func `pain 10: a message over the server's limit ends the connection, and the next one works`() async throws {
            var configuration = WebSocketServerConfiguration()
            configuration.limits.message = 100
            let server = WebSocketServer(configuration: configuration) { connection, _ in
                for try await message in connection.messages { try await connection.send(message) }
            }
            try await server.withRunning { server in
                let socket = WebSocket(server.url()) { options in
                    options.reconnect = ReconnectPolicy(backoff: Backoff(base: .milliseconds(10)), spacing: .zero)
                }
                try await socket.send(.binary([UInt8](repeating: 1, count: 101)))
                for await event in socket.events {
                    if case .reconnecting(_, _, let cause) = event {
                        #expect(cause.closeRecord?.received?.code == .messageTooBig)
                        #expect(cause.closeRecord?.received?.reason.contains("(limits.message)") == true, "the reason names the setting")
                        try await socket.send(.text("short"))
                    }
                    if case .message(let message) = event {
                        #expect(message == .text("short"))
                        break
                    }
                }
                await socket.close()
            }
        }

        @Test(arguments: [Delivery.messages, .chunks])
        func `pain 10: with a higher limit several large messages pass to a waiting app`(
            delivery: Delivery
        ) async throws {
            let message = Message.binary([UInt8](repeating: 3, count: 3 << 20))
            let server = WebSocketServer { connection, _ in
                for _ in 1...5 { try await connection.send(message) }
            }
            try await server.withRunning { server in
                let configuration = WebSocketConfiguration.with {
                    ($0.limits.message, $0.compression, $0.delivery) = (4 << 20, nil, delivery)
                }
                let connection = try await WebSocketConnection.connect(to: server.url(), configuration: configuration)
                var count = 0
                for try await received in connection.messages {
                    #expect(received == message)
                    count += 1
                }
                #expect(count == 5)
            }
        }

        @Test func `pain 22: any inbound byte counts as a sign of life, not only a pong`() async throws {
            let configuration = WebSocketConfiguration.with {
                ($0.timeouts.pingInterval, $0.timeouts.ping) = (.milliseconds(50), .seconds(1))
            }
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade()
                // The peer answers no ping, but sends a fragment after each one.
                for number in 1...25 {
                    #expect(try await peer.readFrame().opcode == .ping)
                    try await peer.send(
                        WireFrame(number == 1 ? .binary : .continuation, [UInt8(number)], isFinal: number == 25), to: .client)
                }
                while try await peer.readFrame().closeFrame == nil {}
                try await peer.send(.close(.normal), to: .client)
            } client: { url in
                try await WebSocketConnection.withConnection(to: url, configuration: configuration) { connection in
                    try await connection.expect(.binary(Array(1...25)))
                }
            }
        }

        @Test func `pain 22: a ping overtakes waiting messages`() async throws {
            let messages = 60
            let (pings, pinged) = AsyncStream.makeStream(of: Void.self)
            try await withScriptedServer(reads: false) { peer in
                try await peer.startReading()
                try await peer.acceptUpgrade()
                try await peer.stopReading()
                for await _ in pings { break }
                try await peer.startReading()
                var before = 0
                for _ in 0...messages {
                    let frame = try await peer.readFrame()
                    if frame.opcode == .binary { before += 1 } else { break }
                }
                #expect(before < messages)
                while true {
                    let frame = try await peer.readFrame()
                    if frame.closeFrame != nil { break }
                }
                try await peer.send(.close(.normal), to: .client)
            } client: { url in
                let connection = try await WebSocketConnection.connect(to: url)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        for _ in 0..<messages { try await connection.send(.binary([UInt8](repeating: 0, count: 1 << 20))) }
                    }
                    while try connection.offer(.text("")) { await Task.yield() }
                    // The task is cancelled at once, so this returns as soon as the ping is on its way.
                    let ping = Task { try await connection.ping() }
                    ping.cancel()
                    #expect((await ping.result.failure as? WebSocketError)?.code == .cancelled)
                    pinged.yield()
                    _ = try await group.next()
                    await connection.close()
                }
            }
        }

        @Test func `pain 23: any task may send, ping and receive at any time`() async throws {
            let (tasks, rounds) = (16, 20)
            try await WebSocketServer.echo().withRunning { server in
                try await WebSocketConnection.withConnection(to: server.url()) { connection in
                    let received = try await withThrowingTaskGroup(of: [Message].self) { group in
                        for task in 0..<tasks {
                            group.addTask {
                                var received: [Message] = []
                                for round in 0..<rounds {
                                    switch (task + round) % 3 {
                                    case 0: try await connection.send(.text("\(task) \(round)"))
                                    case 1: try await connection.send(.text, pieces: Pieces(["\(task)", " ", "\(round)"]))
                                    default:
                                        _ = try await connection.ping()
                                        try await connection.send(.text("\(task) \(round)"))
                                    }
                                    if let message = try await connection.next() { received.append(message) }
                                }
                                return received
                            }
                        }
                        return try await group.reduce(into: []) { $0 += $1 }
                    }
                    let all = (0..<tasks).flatMap { task in (0..<rounds).map { Message.text("\(task) \($0)") } }
                    #expect(received.count == all.count)
                    #expect(Set(received) == Set(all))
                }
            }
        }

        @Test func `pain 24: ten thousand messages keep their order`() async throws {
            let count = 10_000
            try await WebSocketServer.echo().withRunning { server in
                try await WebSocketConnection.withConnection(to: server.url()) { connection in
                    async let sending: Void = { for number in 0..<count { try await connection.send(.text("\(number)")) } }()
                    var misplaced = 0
                    for number in 0..<count where try await connection.next() != .text("\(number)") { misplaced += 1 }
                    #expect(misplaced == 0)
                    try await sending
                }
            }
        }

        @Test func `pain 24: a message of very many frames is read in linear time`() async throws {
            let count = 60_000
            let frames =
                WireFrame(.binary, [0], isFinal: false).bytes(to: .client)
                + (2..<count).flatMap { _ in WireFrame(.continuation, [1], isFinal: false).bytes(to: .client) }
                + WireFrame(.continuation, [2]).bytes(to: .client)
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade()
                try await peer.send(frames)
                try await peer.answerClose(to: .client)
            } client: { url in
                try await WebSocketConnection.withConnection(to: url) { connection in
                    try await connection.expect(.binary([0] + [UInt8](repeating: 1, count: count - 2) + [2]))
                }
            }
        }
    }
}

/// The pieces of one message, from texts.
struct Pieces: AsyncSequence, AsyncIteratorProtocol {
    private var rest: ArraySlice<String>

    init(_ texts: [String]) { rest = texts[...] }

    func makeAsyncIterator() -> Pieces { self }

    mutating func next() async -> [UInt8]? { rest.popFirst().map { Array($0.utf8) } }
}
