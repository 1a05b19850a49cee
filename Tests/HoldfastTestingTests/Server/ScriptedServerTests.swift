import HoldfastTesting
import Testing

@Suite(.timeLimit(.minutes(2))) struct ScriptedServerTests {
    private func connect(
        to server: ScriptedServer, _ configure: (inout WebSocketConfiguration) -> Void = { _ in }
    ) async throws(WebSocketError) -> WebSocketConnection {
        var configuration = WebSocketConfiguration()
        configure(&configuration)
        return try await WebSocketConnection.connect(to: server.url, configuration: configuration)
    }

    /// How the connection ends: nil if cleanly.
    private func end(_ connection: WebSocketConnection) async -> WebSocketError? {
        do {
            for try await _ in connection.messages {}
            return nil
        } catch {
            return error
        }
    }

    // MARK: Answers

    @Test func `the server waits for expected messages, answers them and records them`() async throws {
        let server = try await ScriptedServer.start([
            .accept(subprotocol: "chat", headers: ["X-Server": "scripted"]), .expect("hi"), .send("ho"), .expectAny(2), .echo(1),
            .ping, .send(.binary([1, 2])), .close(.goingAway, reason: "enough"),
        ])
        let connection = try await connect(to: server) {
            $0.subprotocols = ["chat"]
            $0.headers = ["X-Client": "test"]
        }
        #expect(connection.subprotocol == "chat")
        #expect(connection.response.headers["X-Server"] == "scripted")
        for text in ["hi", "one", "two", "echo"] { try await connection.send(.text(text)) }
        var received: [Message] = []
        for try await message in connection.messages { received.append(message) }
        #expect(received == [.text("ho"), .text("echo"), .binary([1, 2])])
        #expect(connection.closeRecord?.received == CloseFrame(.goingAway, reason: "enough"))
        let visit = try #require(try await server.played().first)
        #expect(visit.request?.headers["X-Client"] == "test")
        #expect(visit.messages == ["hi", "one", "two", "echo"].map { .text($0) })
        #expect(visit.close?.code == .goingAway)
    }

    @Test func `each connection has its own script, and further connections use the last one`() async throws {
        let server = try await ScriptedServer.start([.send("first"), .close()], [.send("second"), .close()])
        for text in ["first", "second", "second"] {
            let connection = try await connect(to: server)
            var received: [Message] = []
            for try await message in connection.messages { received.append(message) }
            #expect(received == [.text(text)])
        }
        #expect(try await server.played(3).count == 3)
        #expect(server.visits.count == 3)
    }

    @Test func `without a script the server accepts and answers pings and a close`() async throws {
        let server = try await ScriptedServer.start()
        let connection = try await connect(to: server)
        _ = try await connection.ping()
        #expect(await connection.close(code: .goingAway).isClean)
        let visit = try #require(try await server.played().first)
        #expect((visit.pingCount, visit.close?.code) == (1, .goingAway))
    }

    @Test func `a long message in pieces is recorded as one message`() async throws {
        let server = try await ScriptedServer.start([.expectAny(), .send("thanks"), .close()])
        let connection = try await connect(to: server) { $0.compression = nil }
        let pieces = AsyncStream { continuation in
            for _ in 1...3 { continuation.yield([UInt8](repeating: 7, count: 100_000)) }
            continuation.finish()
        }
        try await connection.send(.binary, pieces: pieces)
        #expect(await end(connection) == nil)
        #expect(server.visits.first?.messages == [.binary([UInt8](repeating: 7, count: 300_000))])
    }

    @Test func `a wait step uses the given clock, and pings are answered meanwhile`() async throws {
        let clock = ManualClock()
        let server = try await ScriptedServer.start([.wait(.seconds(60)), .send("late"), .close()], clock: clock)
        let connection = try await connect(to: server)
        #expect(await clock.nextSleep() == .seconds(60))
        _ = try await connection.ping()
        #expect(server.visits.first?.isPlayed == false)
        clock.advance(by: .seconds(60))
        #expect(await end(connection) == nil)
        try await server.played()
    }

    @Test func `a wait ends with its connection`() async throws {
        let server = try await ScriptedServer.start([.wait(.seconds(1000))])
        _ = try await connect(to: server).close()
        try await server.played()
    }

    // MARK: Expectations

    @Test func `an unexpected message is reported with its connection and step`() async throws {
        let server = try await ScriptedServer.start([.expectAny(), .expect("a")])
        let connection = try await connect(to: server)
        for text in ["x", "b"] { try await connection.send(.text(text)) }
        let mismatch = try #require(await #expect(throws: ScriptMismatch.self) { try await server.played() })
        #expect((mismatch.connection, mismatch.step) == (1, 2))
        #expect(mismatch.description == "connection 1, step 2: expected the text \"a\", found the text \"b\"")
        #expect(await end(connection)?.closeRecord?.received?.code == .policyViolation, "the server closes with a policy violation")
    }

    @Test func `the end of the connection instead of a message is reported`() async throws {
        let server = try await ScriptedServer.start([.expect("a")])
        try await connect(to: server).abort()
        let mismatch = await #expect(throws: ScriptMismatch.self) { try await server.played() }
        #expect(mismatch?.found == "the end of the connection")
    }

    @Test func `the server stops waiting when its patience is over`() async throws {
        let server = try await ScriptedServer.start([.expectClose(.normal)], patience: .milliseconds(50))
        let connection = try await connect(to: server)
        let mismatch = await #expect(throws: ScriptMismatch.self) { try await server.played() }
        #expect(mismatch?.step == 1 || mismatch?.step == 0, "either the step or the call of played() timed out")
        _ = await end(connection)
        await #expect(throws: ScriptMismatch.self) { try await server.played(2) }
    }

    @Test func `a script can expect a ping and a close after other messages`() async throws {
        let server = try await ScriptedServer.start([.expectPing, .expectClose(.goingAway)])
        let connection = try await connect(to: server)
        try await connection.send(.text("before"))
        _ = try await connection.ping()
        _ = await connection.close(code: .goingAway)
        try await server.played()
    }

    // MARK: Invalid answers

    @Test func `a refusal carries its status, fields and body`() async throws {
        let server = try await ScriptedServer.start([
            .refuse(status: 503, headers: ["X-Reason": "deploy"], body: "come back", retryAfter: .seconds(7))
        ])
        let error = try #require(await #expect(throws: WebSocketError.self) { try await connect(to: server) })
        #expect((error.httpStatus, error.body) == (503, Array("come back".utf8)))
        #expect((error.responseHeaders["Retry-After"], error.responseHeaders["X-Reason"]) == ("7", "deploy"))
        try await server.played()
    }

    @Test func `a script can answer with a wrong accept value`() async throws {
        let server = try await ScriptedServer.start([.acceptWrongly])
        let error = await #expect(throws: WebSocketError.self) { try await connect(to: server) }
        #expect((error?.underlying as? HandshakeFailure)?.kind == .invalidAccept)
    }

    @Test func `a script can leave the request unanswered`() async throws {
        let server = try await ScriptedServer.start([.neverAnswer])
        let error = await #expect(throws: WebSocketError.self) {
            try await connect(to: server) { $0.timeouts.handshake = .milliseconds(100) }
        }
        #expect(error?.code == .timedOut)
        #expect(server.visits.first?.request != nil)
    }

    private static let wrongFrames: [(ServerFrame, ProtocolViolation.Kind)] = [
        (.masked(.text("x")), .unexpectedMask), (.invalidText, .invalidUTF8), (.reservedBit, .reservedBits),
        (.unknownOpcode, .unknownOpcode), (.strayContinuation, .unexpectedContinuation), (.fragmentedPing, .fragmentedControl),
        (.longPing, .oversizedControl), (.forbiddenClose, .invalidCloseFrame), (.announcing(1 << 40), .messageTooBig),
    ]

    @Test(arguments: wrongFrames) func `a script can send an invalid frame`(frame: ServerFrame, kind: ProtocolViolation.Kind) async throws {
        let server = try await ScriptedServer.start([.send("right"), .send(frame), .expectClose()])
        let connection = try await connect(to: server)
        #expect((await end(connection)?.underlying as? ProtocolViolation)?.kind == kind)
        #expect(try await server.played().first?.close != nil)
    }

    @Test func `a script can send any bytes`() async throws {
        let server = try await ScriptedServer.start([.send(bytes: [0x81, 2, 0x68]), .send(bytes: [0x69]), .close()])
        let connection = try await connect(to: server)
        var received: [Message] = []
        for try await message in connection.messages { received.append(message) }
        #expect(received == [.text("hi")])
    }

    // MARK: Stalls and ends

    @Test func `a script can leave pings unanswered`() async throws {
        let server = try await ScriptedServer.start([.ignorePings, .expectPing])
        let connection = try await connect(to: server)
        await #expect(throws: WebSocketError.self) { try await connection.ping(timeout: .milliseconds(100)) }
        try await server.played()
    }

    @Test func `a script can leave a close unanswered`() async throws {
        let server = try await ScriptedServer.start([.ignoreClose, .expectClose()])
        let connection = try await connect(to: server) { $0.timeouts.close = .milliseconds(100) }
        #expect(await connection.close().isClean == false)
        try await server.played()
    }

    @Test func `a script can stop reading, so that the client waits, and continue later`() async throws {
        let clock = ManualClock()
        let server = try await ScriptedServer.start(
            [.expect("ready"), .stopReading, .wait(.seconds(1)), .startReading, .expectAny(20), .close()], clock: clock)
        let connection = try await connect(to: server) { $0.compression = nil }
        try await connection.send(.text("ready"))
        await clock.nextSleep()
        let message = Message.binary([UInt8](repeating: 7, count: 1 << 20))
        async let sent: Void = {
            for _ in 1...20 { try await connection.send(message) }
        }()
        // The server may have requested one message before it stopped.
        #expect(server.visits.first.map { $0.messageCount <= 2 } == true)
        clock.advance(by: .seconds(1))
        try await sent
        #expect(await end(connection) == nil)
        let visit = try #require(try await server.played().first)
        #expect(visit.messageCount == 21)
        #expect(visit.messages.count == 16, "the server keeps at most 16 MiB")
    }

    @Test(arguments: LinkEnding.allCases) func `a script can drop the connection without a close frame`(ending: LinkEnding) async throws {
        let server = try await ScriptedServer.start([.expectAny(3), .drop(ending)])
        let connection = try await connect(to: server)
        for _ in 1...3 { try await connection.send(.text("x")) }
        #expect(await end(connection)?.code == .lost)
        try await server.played()
    }

    @Test func `stopping the server ends every connection`() async throws {
        let server = try await ScriptedServer.start([.wait(.seconds(1000))])
        let connection = try await connect(to: server)
        server.stop()
        #expect(await end(connection)?.code == .lost)
        await #expect(throws: WebSocketError.self) { try await connect(to: server) }
    }

    /// A client reconnects through a drop, a refusal and a cut.
    @Test func `a socket receives every message in spite of drops, a refusal and a cut`() async throws {
        let server = try await ScriptedServer.start(
            [.send("1"), .drop(.rst)], [.refuse(status: 503)], [.send("2")], [.send("3"), .close()])
        let link = try await FaultyLink.start(to: server.port)
        let socket = WebSocket("ws://127.0.0.1:\(link.port)/") {
            $0.reconnect.backoff = Backoff(base: .milliseconds(1), cap: .milliseconds(2))
            $0.reconnect.spacing = .milliseconds(1)
        }
        var received: [Message] = []
        for await event in socket.events {
            guard case .message(let message) = event else { continue }
            received.append(message)
            if message == .text("2") { link.cut() }
        }
        #expect(received == [.text("1"), .text("2"), .text("3")])
        try await server.played(4)
    }
}
