import Holdfast
import HoldfastServer
import ScriptedPeers
import Testing
import WebSocketRuntime

extension SocketTests {
    /// The effects of cancelled tasks.
    @Suite struct CancellationTests {
        @Test func `a cancelled connect returns at once and closes the TCP connection`() async throws {
            let (requests, requested) = AsyncStream.makeStream(of: Void.self)
            try await withScriptedServer { peer in
                _ = try await peer.readRequest()
                requested.yield()
                #expect(await peer.readToEnd().isEmpty)
            } client: { url in
                let connecting = Task { try await WebSocketConnection.connect(to: url) }
                for await _ in requests { break }
                connecting.cancel()
                let error = await connecting.result.failure as? WebSocketError
                #expect(error?.code == .cancelled)
                #expect(error?.isRetryable == false)
            }
        }

        @Test func `a task that was cancelled before it connects does not connect`() async throws {
            try await WebSocketServer.echo().withRunning { server in
                let url = server.url()
                let connecting = Task {
                    withUnsafeCurrentTask { $0?.cancel() }
                    return try await WebSocketConnection.connect(to: url)
                }
                #expect((await connecting.result.failure as? WebSocketError)?.code == .cancelled)
            }
        }

        @Test func `a cancelled receive loses no message and does not end the connection`() async throws {
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade()
                #expect(try await peer.readFrame() == .text("go"))
                for number in 1...3 { try await peer.send(.text("\(number)"), to: .client) }
                try await peer.answerClose(to: .client)
            } client: { url in
                try await WebSocketConnection.withConnection(to: url) { connection in
                    let receiving = Task { try await connection.next() }
                    receiving.cancel()
                    #expect((await receiving.result.failure as? WebSocketError)?.code == .cancelled)
                    try await connection.send(.text("go"))
                    for number in 1...3 { try await connection.expect(.text("\(number)")) }
                }
            }
        }

        @Test func `a cancelled receive in the middle of a message in pieces loses nothing`() async throws {
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade(then: WireFrame(.binary, [1, 2], isFinal: false).bytes(to: .client))
                let ping = try await peer.readFrame()
                try await peer.send(WireFrame(.pong, ping.payload), to: .client)
                #expect(try await peer.readFrame() == .text("go"))
                try await peer.send(WireFrame(.continuation, [3]), to: .client)
                try await peer.answerClose(to: .client)
            } client: { url in
                let configuration = WebSocketConfiguration.with { $0.delivery = .chunks }
                try await WebSocketConnection.withConnection(to: url, configuration: configuration) { connection in
                    let receiving = Task { try await connection.next() }
                    // When the pong arrives, the first piece has arrived.
                    _ = try await connection.ping()
                    receiving.cancel()
                    #expect((await receiving.result.failure as? WebSocketError)?.code == .cancelled)
                    try await connection.send(.text("go"))
                    try await connection.expect(.binary([1, 2, 3]))
                }
            }
        }

        @Test func `a message that races with cancellation is either received or still there`() async throws {
            try await WebSocketServer.echo().withRunning { server in
                try await WebSocketConnection.withConnection(to: server.url()) { connection in
                    for number in 0..<150 {
                        let receiving = Task { try await connection.next() }
                        try await connection.send(.text("\(number)"))
                        if number.isMultiple(of: 3) { await Task.yield() }
                        receiving.cancel()
                        let taken: Message?
                        switch await receiving.result {
                        case .success(let message): taken = message
                        case .failure: taken = try await connection.next()
                        }
                        #expect(taken == .text("\(number)"))
                    }
                }
            }
        }

        @Test func `withConnection closes with 1000 when its body returns`() async throws {
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade()
                #expect(try await peer.answerClose(to: .client).code == .normal)
            } client: { url in
                let result = try await WebSocketConnection.withConnection(to: url) { _ in 7 }
                #expect(result == 7)
            }
        }

        @Test func `withConnection closes with 1001 when its body throws`() async throws {
            struct Failed: Error {}
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade()
                #expect(try await peer.answerClose(to: .client).code == .goingAway)
            } client: { url in
                _ = await #expect(throws: Failed.self) {
                    try await WebSocketConnection.withConnection(to: url) { _ in throw Failed() }
                }
            }
        }

        @Test func `withConnection drops the link when its task is cancelled`() async throws {
            let (messages, received) = AsyncStream.makeStream(of: Void.self)
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade(then: WireFrame.text("hello").bytes(to: .client))
                // The server answers nothing.
                _ = await peer.readToEnd()
            } client: { url in
                let configuration = WebSocketConfiguration.with { $0.timeouts.close = .seconds(3600) }
                let running = Task {
                    try await WebSocketConnection.withConnection(to: url, configuration: configuration) { connection in
                        for try await _ in connection.messages { received.yield() }
                    }
                }
                for await _ in messages { break }
                running.cancel()
                #expect((await running.result.failure as? WebSocketError)?.code == .cancelled)
            }
        }

        @Test func `a reader that sees the dropped link first gets the cancellation error`() async throws {
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade()
                _ = await peer.readToEnd()
            } client: { url in
                let (starts, started) = AsyncStream.makeStream(of: Void.self)
                let running = Task {
                    try await WebSocketConnection.withConnection(to: url) { connection in
                        started.yield()
                        // The current task is cancelled, so another task waits for the end.
                        _ = await Task { await connection.transport.ended() }.value
                        for try await _ in connection.messages {}
                    }
                }
                for await _ in starts { break }
                running.cancel()
                #expect((await running.result.failure as? WebSocketError)?.code == .cancelled)
            }
        }

        @Test func `a message whose pieces fail half-way closes the connection with 1011`() async throws {
            struct Failed: Error {}
            let (pieces, more) = AsyncThrowingStream.makeStream(of: [UInt8].self, throwing: (any Error).self)
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade()
                #expect(try await peer.readFrame() == WireFrame(.binary, [1, 2], isFinal: false))
                more.finish(throwing: Failed())
                #expect(try await peer.answerClose(to: .client).code == .internalError)
            } client: { url in
                let connection = try await WebSocketConnection.connect(to: url)
                more.yield([1, 2])
                await #expect(throws: Failed.self) { try await connection.send(.binary, pieces: pieces) }
                _ = await connection.end()
            }
        }

        @Test func `a message whose pieces fail before the first one leaves the connection open`() async throws {
            struct Failed: Error {}
            let pieces = AsyncThrowingStream<[UInt8], any Error> { throw Failed() }
            try await WebSocketServer.echo().withRunning { server in
                try await WebSocketConnection.withConnection(to: server.url()) { connection in
                    await #expect(throws: Failed.self) { try await connection.send(.text, pieces: pieces) }
                    try await connection.send(.text("still here"))
                    try await connection.expect(.text("still here"))
                }
            }
        }
    }
}
