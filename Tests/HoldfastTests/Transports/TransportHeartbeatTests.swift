import Holdfast
import HoldfastTesting
import Testing

/// What the heartbeat of a connection can be told, and what it tells.
@Suite(.timeLimit(.minutes(1))) struct TransportHeartbeatTests {
    /// Nobody asks by itself until told.
    private func quiet(_ configure: (inout WebSocketConfiguration) -> Void = { _ in }) -> WebSocketConfiguration {
        .with {
            $0.timeouts.pingInterval = nil
            configure(&$0)
        }
    }

    private func asking(showsAnswers: Bool = false, patience: Duration = .seconds(30)) -> WebSocketConfiguration {
        quiet {
            $0.timeouts.ping = patience
            $0.pingMessage = PingMessage(showsAnswers: showsAnswers) {
                .text("ping?")
            } isAnswer: {
                $0 == .text("pong!")
            }
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `an observer hears of every round trip, and who had asked`(_ kind: TransportKind) async throws {
        try await kind.withPair(quiet()) { client, _ in
            let log = HeartLog()
            var trips = log.stream.makeAsyncIterator()
            client.observe(log)
            _ = try await client.ping(timeout: .seconds(30))
            #expect(await trips.next() == false)
            client.setPingInterval(.milliseconds(20))
            #expect(await trips.next() == true)
            client.observe(nil)
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `an observer is let go with the connection`(_ kind: TransportKind) async throws {
        try await kind.withPair(quiet()) { client, _ in
            var log: HeartLog? = HeartLog()
            let stream = try #require(log?.stream)
            client.observe(log)
            log = nil
            client.abort()
            _ = await client.ended()
            for await _ in stream {}
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a connection that is told to ask finds a half-open link`(_ kind: TransportKind) async throws {
        try await kind.withLink(quiet { $0.timeouts.ping = .milliseconds(100) }) { client, _, link in
            link.stall()
            client.setPingInterval(.milliseconds(50))
            #expect(await client.ended().failureCode == .unresponsive)
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a message asks in place of a ping, and the app does not see its answer`(_ kind: TransportKind) async throws {
        try await kind.withPair(asking()) { client, server in
            let log = HeartLog()
            client.observe(log)
            client.setPingInterval(.milliseconds(20))
            for number in 1...3 {
                #expect(try await server.message() == .text("ping?"))
                try await server.send(.text("pong!"))
                try await server.send(.text("\(number)"))
            }
            for number in 1...3 { #expect(try await client.message() == .text("\(number)")) }
            var trips = log.stream.makeAsyncIterator()
            #expect(await trips.next() == true)
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `the app sees the answers if it wants to`(_ kind: TransportKind) async throws {
        try await kind.withPair(asking(showsAnswers: true)) { client, server in
            client.probe()
            #expect(try await server.message() == .text("ping?"))
            try await server.send(.text("pong!"))
            #expect(try await client.message() == .text("pong!"))
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `what looks like an answer, and nobody had asked, is the app's`(_ kind: TransportKind) async throws {
        try await kind.withPair(asking()) { client, server in
            try await server.send(.text("pong!"))
            #expect(try await client.message() == .text("pong!"))
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `any other message is life, too, and the answer is still hidden when it comes`(_ kind: TransportKind) async throws {
        try await kind.withPair(asking()) { client, server in
            client.probe()
            #expect(try await server.message() == .text("ping?"))
            for message in ["news", "pong!", "more news"] { try await server.send(.text(message)) }
            #expect(try await client.message() == .text("news"))
            #expect(try await client.message() == .text("more news"))
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `silence after a message that asks is death`(_ kind: TransportKind) async throws {
        try await kind.withPair(asking(patience: .milliseconds(100))) { client, server in
            client.setPingInterval(.milliseconds(20))
            let question = try await server.message()
            #expect(question == .text("ping?"))
            #expect(await client.ended().failureCode == .unresponsive)
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a question does not come between the pieces of a message, and none is missed for it`(_ kind: TransportKind) async throws {
        var configuration = asking(patience: .milliseconds(100))
        configuration.timeouts.stall = .milliseconds(100)
        try await kind.withPair(configuration) { client, server in
            let ticket = try await client.beginMessage()
            try await client.send(MessageChunk(kind: .text, bytes: Array("a".utf8), isLast: false), of: ticket)
            client.setPingInterval(.milliseconds(20))
            // For as long as it takes another connection to die of the same silence, twice.
            for _ in 1...2 {
                try await kind.withPair(configuration) { other, _ in
                    other.setPingInterval(.milliseconds(20))
                    #expect(await other.ended().failureCode == .unresponsive)
                }
            }
            #expect(client.closeRecord == nil)
            try await client.send(MessageChunk(kind: .text, bytes: Array("b".utf8), isLast: true), of: ticket)
            #expect(try await server.message() == .text("ab"))
            #expect(try await server.message() == .text("ping?"))
        }
    }
}

extension Result<CloseRecord, TransportError> {
    /// The code of the failure; nil if there was none.
    var failureCode: TransportError.Code? { if case .failure(let error) = self { error.code } else { nil } }
}
