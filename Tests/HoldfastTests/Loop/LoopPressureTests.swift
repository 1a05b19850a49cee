import Holdfast
import HoldfastServer
import HoldfastTesting
import WebSocketRuntime
import ScriptedPeers
import Testing

extension SocketTests {
    /// Many messages at once, from tasks on the event loop, on the pool and on both.
    @Suite struct LoopPressureTests {
        /// Where a task runs.
        enum Place: CaseIterable {
            case loop, pool

            func run<Result: Sendable>(
                _ connection: WebSocketConnection, _ body: @Sendable (WebSocketConnection) async throws -> Result
            ) async throws -> Result {
                switch self {
                case .loop: try await connection.onEventLoop(body)
                case .pool: try await body(connection)
                }
            }
        }

        private func withEcho(
            handlers: HandlerPlacement = .eventLoop, compression: CompressionOptions? = nil,
            _ body: (WebSocketConnection) async throws -> Void
        ) async throws {
            let server = WebSocketServer.echo { ($0.handlers, $0.compression) = (handlers, compression) }
            try await server.withRunning { server in
                let configuration = WebSocketConfiguration.with { $0.compression = compression }
                try await WebSocketConnection.withConnection(to: server.url(), configuration: configuration, body)
            }
        }

        /// A regression test: the queue once did not wake a sender that it admitted while it was being emptied.
        @Test(arguments: Place.allCases, Place.allCases)
        func `no task hangs when both directions are full: 20 000 small messages`(sender: Place, receiver: Place) async throws {
            let count = 20_000
            try await withEcho { connection in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        try await sender.run(connection) { connection in
                            for number in 0..<count { try await connection.send(Self.small(number)) }
                        }
                    }
                    group.addTask {
                        try await receiver.run(connection) { connection in
                            var next = 0
                            for try await message in connection.messages {
                                guard message == Self.small(next) else { throw Mismatch(number: next) }
                                next += 1
                                if next == count { break }
                            }
                        }
                    }
                    try await group.waitForAll()
                }
            }
        }

        struct Mismatch: Error { let number: Int }

        /// A message of 64 bytes.
        private static func small(_ number: Int) -> Message {
            let digits = Array("\(number)".utf8)
            return .binary(digits + [UInt8](repeating: 0x2E, count: 64 - digits.count))
        }

        @Test(arguments: Place.allCases, [HandlerPlacement.eventLoop, .pool])
        func `no task hangs when the server reads late`(sender: Place, handlers: HandlerPlacement) async throws {
            let count = 20_000
            let (counts, counted) = AsyncStream.makeStream(of: Int.self)
            var options = WebSocketServerConfiguration()
            (options.handlers, options.limits.receiveBuffer, options.compression) = (handlers, 1000, nil)
            let server = WebSocketServer(configuration: options) { connection, _ in
                var next = 0
                for try await message in connection.messages {
                    guard message == Self.small(next) else { break }
                    next += 1
                    for _ in 0..<next % 4 { await Task.yield() }
                }
                counted.yield(next)
            }
            try await server.withRunning { server in
                let configuration = WebSocketConfiguration.with { $0.limits.sendBuffer = 2000 }
                try await WebSocketConnection.withConnection(to: server.url(), configuration: configuration) { connection in
                    async let answering: Void = { _ = await connection.end() }()
                    try await sender.run(connection) { connection in
                        for number in 0..<count { try await connection.send(Self.small(number)) }
                    }
                    await connection.close()
                    await answering
                }
                #expect(await counts.first { _ in true } == count)
            }
        }

        /// A message with its sender and number, from which its length and bytes follow.
        private static func message(of sender: Int, _ number: Int) -> Message {
            let size = [0, 5, 64, 120, 121, 1000, 17_000, 70_000][(sender + number) % 8]
            return .binary(
                [UInt8(sender), UInt8(number >> 8), UInt8(number & 255)]
                    + [UInt8](repeating: UInt8(truncatingIfNeeded: sender &+ number), count: size))
        }

        @Test(arguments: [HandlerPlacement.eventLoop, .pool], [false, true])
        func `messages from senders on the loop and on the pool arrive whole and in each sender's order, and pieces are never mixed`(
            handlers: HandlerPlacement, isCompressed: Bool
        ) async throws {
            let (senders, count) = (9, isCompressed ? 150 : 500)
            try await withEcho(handlers: handlers, compression: isCompressed ? CompressionOptions() : nil) { connection in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for sender in 0..<senders {
                        group.addTask {
                            // There are three kinds of senders: on the loop, on the pool, and alternating.
                            if sender % 3 == 2 {
                                for number in 0..<count {
                                    let place = Place.allCases[number % 2]
                                    try await place.run(connection) { try await Self.send(sender, number, over: $0) }
                                }
                            } else {
                                try await Place.allCases[sender % 3].run(connection) { connection in
                                    for number in 0..<count { try await Self.send(sender, number, over: connection) }
                                }
                            }
                        }
                    }
                    group.addTask {
                        try await connection.onEventLoop { connection in
                            var (next, total) = ([Int](repeating: 0, count: senders), 0)
                            for try await message in connection.messages {
                                guard case .binary(let bytes) = message, let sender = bytes.first.map({ Int($0) }), sender < senders else {
                                    throw Mismatch(number: total)
                                }
                                guard message == Self.message(of: sender, next[sender]) else {
                                    connection.abort()  // Otherwise the senders would wait.
                                    throw Mismatch(number: total)
                                }
                                next[sender] += 1
                                total += 1
                                if total == senders * count { break }
                            }
                            #expect(next == [Int](repeating: count, count: senders))
                        }
                    }
                    try await group.waitForAll()
                }
            }
        }

        private static func send(_ sender: Int, _ number: Int, over connection: WebSocketConnection) async throws {
            let message = message(of: sender, number)
            guard number % 5 == 4, case .binary(let bytes) = message else { return try await connection.send(message) }
            let pieces = AsyncStream<[UInt8]> { continuation in
                for start in stride(from: 0, to: bytes.count, by: 9000) { continuation.yield(Array(bytes[start...].prefix(9000))) }
                continuation.finish()
            }
            try await connection.send(.binary, pieces: pieces)
        }

        @Test(arguments: Place.allCases, [Delivery.messages, .chunks])
        func `leaving a message loop early loses no message`(place: Place, delivery: Delivery) async throws {
            let count = 5000
            let server = WebSocketServer { connection, _ in
                for number in 0..<count { try await connection.send(Self.mixed(number)) }
            }
            try await server.withRunning { server in
                let configuration = WebSocketConfiguration.with { ($0.delivery, $0.limits.receiveBuffer) = (delivery, 20_000) }
                let connection = try await WebSocketConnection.connect(to: server.url(), configuration: configuration)
                try await place.run(connection) { connection in
                    var (next, random) = (0, SeededGenerator(seed: 7))
                    while true {
                        let start = next
                        for try await message in connection.messages {
                            guard message == Self.mixed(next) else { throw Mismatch(number: next) }
                            next += 1
                            if Int.random(in: 0..<20, using: &random) == 0 { break }
                        }
                        if next == start { break }
                    }
                    #expect(next == count)
                }
            }
        }

        private static func mixed(_ number: Int) -> Message {
            number.isMultiple(of: 2)
                ? .text("\(number) ✂️") : .binary(Array("\(number)".utf8) + [UInt8](repeating: 1, count: number % 7 * 900))
        }

        @Test(arguments: Place.allCases) func `several loops at once share the messages, and each arrives once`(place: Place) async throws {
            let count = 5000
            let server = WebSocketServer { connection, _ in
                for number in 0..<count { try await connection.send(.text("\(number)")) }
            }
            try await server.withRunning { server in
                let connection = try await WebSocketConnection.connect(to: server.url())
                let received = try await withThrowingTaskGroup(of: [Int].self) { group in
                    for reader in 0..<4 {
                        group.addTask {
                            try await place.run(connection) { connection in
                                var (received, random) = ([Int](), SeededGenerator(seed: UInt64(reader)))
                                while true {
                                    let before = received.count
                                    for try await message in connection.messages {
                                        if case .text(let text) = message { received.append(Int(text) ?? -1) }
                                        if Int.random(in: 0..<9, using: &random) == 0 { break }
                                    }
                                    if received.count == before { return received }
                                }
                            }
                        }
                    }
                    return try await group.reduce(into: []) { $0 += $1 }
                }
                #expect(received.sorted() == Array(0..<count))
            }
        }

        /// Each loop takes a batch, keeps one message and returns the rest, which must not count as free space.
        @Test(arguments: Place.allCases, [100, 5000, 60_000])
        func `a fast server has to wait even if the client takes one message at a time`(place: Place, size: Int) async throws {
            let sent = LockedValue(0)
            let server = WebSocketServer { connection, _ in
                while true {
                    try await connection.send(.binary([UInt8](repeating: 1, count: size)))
                    sent.withLockedValue { $0 += size + 64 }
                }
            }
            try await server.withRunning { server in
                let configuration = WebSocketConfiguration.with { $0.compression = nil }
                let connection = try await WebSocketConnection.connect(to: server.url(), configuration: configuration)
                try await place.run(connection) { connection in
                    var received = 0
                    for _ in 1...2000 {
                        guard case .binary(let bytes)? = try await connection.next() else { throw Mismatch(number: received) }
                        received += bytes.count + 64
                        await Task.yield()
                    }
                    // The difference is about what the system's sockets buffer.
                    #expect(sent.withLockedValue(\.self) - received < 24 << 20)
                }
                connection.abort()
            }
        }
    }
}
