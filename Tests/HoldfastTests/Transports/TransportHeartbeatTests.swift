import Holdfast
import HoldfastTesting
import Testing

/// Settings and reports of a connection's heartbeat.
@Suite(.timeLimit(.minutes(1))) struct TransportHeartbeatTests {
    /// A configuration without automatic pings.
    private func withoutPings(_ configure: (inout WebSocketConfiguration) -> Void = { _ in }) -> WebSocketConfiguration {
        .with {
            $0.timeouts.pingInterval = nil
            configure(&$0)
        }
    }

    private func withPingMessages(showsAnswers: Bool = false, timeout: Duration = .seconds(30)) -> WebSocketConfiguration {
        withoutPings {
            $0.timeouts.ping = timeout
            $0.pingMessage = PingMessage(showsAnswers: showsAnswers) {
                .text("ping?")
            } isAnswer: {
                $0 == .text("pong!")
            }
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `an observer gets every round trip, and whether the ping was automatic`(_ kind: TransportKind) async throws {
        try await kind.withPair(withoutPings()) { client, _ in
            let log = HeartLog()
            var roundTrips = log.stream.makeAsyncIterator()
            client.observe(log)
            _ = try await client.ping(timeout: .seconds(30))
            #expect(await roundTrips.next() == false)
            client.setPingInterval(.milliseconds(20))
            #expect(await roundTrips.next() == true)
            client.observe(nil)
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `an observer is released with the connection`(_ kind: TransportKind) async throws {
        try await kind.withPair(withoutPings()) { client, _ in
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
    func `a connection with a ping interval detects a half-open link`(_ kind: TransportKind) async throws {
        try await kind.withLink(withoutPings { $0.timeouts.ping = .milliseconds(100) }) { client, _, link in
            link.stall()
            client.setPingInterval(.milliseconds(50))
            #expect(await client.ended().failureCode == .unresponsive)
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `ping messages replace pings, and the app does not see the answers`(_ kind: TransportKind) async throws {
        try await kind.withPair(withPingMessages()) { client, server in
            let log = HeartLog()
            client.observe(log)
            client.setPingInterval(.milliseconds(20))
            for number in 1...3 {
                #expect(try await server.message() == .text("ping?"))
                try await server.send(.text("pong!"))
                try await server.send(.text("\(number)"))
            }
            for number in 1...3 { #expect(try await client.message() == .text("\(number)")) }
            var roundTrips = log.stream.makeAsyncIterator()
            #expect(await roundTrips.next() == true)
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `the app sees the answers if configured`(_ kind: TransportKind) async throws {
        try await kind.withPair(withPingMessages(showsAnswers: true)) { client, server in
            client.probe()
            #expect(try await server.message() == .text("ping?"))
            try await server.send(.text("pong!"))
            #expect(try await client.message() == .text("pong!"))
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a message like an answer without a question is delivered to the app`(_ kind: TransportKind) async throws {
        try await kind.withPair(withPingMessages()) { client, server in
            try await server.send(.text("pong!"))
            #expect(try await client.message() == .text("pong!"))
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `any other message counts as a sign of life, and the later answer is still hidden`(_ kind: TransportKind) async throws {
        try await kind.withPair(withPingMessages()) { client, server in
            client.probe()
            #expect(try await server.message() == .text("ping?"))
            for message in ["news", "pong!", "more news"] { try await server.send(.text(message)) }
            #expect(try await client.message() == .text("news"))
            #expect(try await client.message() == .text("more news"))
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `silence after a ping message ends the connection`(_ kind: TransportKind) async throws {
        try await kind.withPair(withPingMessages(timeout: .milliseconds(100))) { client, server in
            client.setPingInterval(.milliseconds(20))
            let question = try await server.message()
            #expect(question == .text("ping?"))
            #expect(await client.ended().failureCode == .unresponsive)
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `no ping message is sent between the pieces of a message, and its timeout does not run`(_ kind: TransportKind) async throws {
        var configuration = withPingMessages(timeout: .milliseconds(100))
        configuration.timeouts.stall = .milliseconds(100)
        try await kind.withPair(configuration) { client, server in
            let ticket = try await client.beginMessage()
            try await client.send(MessageChunk(kind: .text, bytes: Array("a".utf8), isLast: false), of: ticket)
            client.setPingInterval(.milliseconds(20))
            // This waits until two other connections have timed out.
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
