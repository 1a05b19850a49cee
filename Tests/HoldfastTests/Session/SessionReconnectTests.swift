import Holdfast
import HoldfastTesting
import Testing

@Suite(.timeLimit(.minutes(1))) struct SessionReconnectTests {
    @Test func `a socket connects, loses the connection and connects again`() async throws {
        let stage = Stage()
        var reader = stage.eventReader()
        let first = try await stage.accept()
        #expect(await reader.next() == .opened)
        try await first.send(.text("hello"))
        #expect(await reader.next() == .message(.text("hello")))
        first.cut()
        #expect(await reader.next() == .reconnecting(attempt: 2, delay: .seconds(1), .lost))
        #expect(await stage.pause() == .seconds(1))
        let second = try await stage.accept()
        #expect(await reader.next() == .opened)
        try await second.send(.binary([1]))
        #expect(await reader.next() == .message(.binary([1])))
    }

    @Test func `messages of a connection come before the report of its loss`() async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        for number in 1...3 { try await peer.send(.text("\(number)")) }
        _ = try await peer.ping(timeout: .seconds(20))  // The messages have arrived now.
        peer.cut()
        await stage.pause()
        _ = try await stage.accept()
        var reader = stage.eventReader()
        #expect(await reader.next() == .opened)
        for number in 1...3 { #expect(await reader.next() == .message(.text("\(number)"))) }
        #expect(await reader.next() == .reconnecting(attempt: 2, delay: .seconds(1), .lost))
        #expect(await reader.next() == .opened)
    }

    @Test func `pain 2: every failed attempt is reported with its error and the next delay`() async throws {
        let stage = Stage()
        var reader = stage.eventReader()
        for (attempt, error) in zip(2..., [TransportError.down, .refused(503), TransportError(.timedOut, "no answer")]) {
            try await stage.refuse(error)
            let delay = Duration.milliseconds(500 * (1 << (attempt - 1)))
            #expect(await reader.next() == .reconnecting(attempt: attempt, delay: delay, error.code))
            #expect(await stage.pause() == delay)
        }
        _ = try await stage.accept()
        #expect(await reader.next() == .opened)
        #expect(stage.attempts.total == 4)
    }

    @Test func `after a stable connection the delays start again`() async throws {
        let stage = Stage()
        var reader = stage.eventReader()
        for _ in 1...3 {
            try await stage.refuse()
            _ = await reader.next()
            await stage.pause()
        }
        let peer = try await stage.accept()
        #expect(await reader.next() == .opened)
        stage.clock.advance(by: .seconds(10))
        peer.cut()
        #expect(await reader.next() == .reconnecting(attempt: 1, delay: .seconds(1), .lost))
    }

    @Test func `an unstable connection keeps increasing the delays`() async throws {
        let stage = Stage()
        var reader = stage.eventReader()
        for attempt in 2...5 {
            let peer = try await stage.accept()
            #expect(await reader.next() == .opened)
            peer.cut()
            #expect(await reader.next() == .reconnecting(attempt: attempt, delay: .milliseconds(500 * (1 << (attempt - 1))), .lost))
            await stage.pause()
        }
    }

    @Test(arguments: [CloseCode.goingAway, .messageTooBig, .internalError, .serviceRestart, .tryAgainLater])
    func `after a close with a temporary code the socket reconnects`(_ code: CloseCode) async throws {
        let stage = Stage()
        var reader = stage.eventReader()
        let peer = try await stage.accept()
        #expect(await reader.next() == .opened)
        #expect(await peer.close(CloseFrame(code)).isClean)
        #expect(await reader.next() == .reconnecting(attempt: 2, delay: .seconds(1), .closed))
        await stage.pause()
        _ = try await stage.accept()
        #expect(await reader.next() == .opened)
    }

    @Test func `pain 16: two errors start one reconnect`() async throws {
        let stage = Stage()
        var events = stage.socket.events.makeAsyncIterator()
        for round in 1...20 {
            let peer = try await stage.accept()
            guard case .opened(let opening)? = await events.nextButStates() else { throw CancellationError() }
            let connection = opening.connection
            await withDiscardingTaskGroup { group in
                group.addTask { connection.abort() }
                group.addTask { peer.cut() }
                group.addTask { peer.abort() }
                group.addTask { try? await connection.send(.text("an error for whoever sends")) }
                group.addTask { _ = try? await connection.ping() }
            }
            guard case .reconnecting(round + 1, _, _)? = await events.nextButStates() else { throw CancellationError() }
            #expect(stage.attempts.total == round)
            await stage.pause()
        }
        _ = try await stage.accept()
        #expect(stage.attempts.total == 21 && stage.attempts.mostAtOnce == 1)
    }

    @Test func `there is one attempt at a time, even if many sends wait for a connection`() async throws {
        let stage = Stage()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<50 { group.addTask { try await stage.socket.send(.text("\(number)"), timeout: .seconds(3600)) } }
            for _ in 1...3 {
                try await stage.refuse()
                await stage.pause()
            }
            let peer = try await stage.accept()
            var received: Set<Message> = []
            while received.count < 50, case .message(let message)? = try await peer.receive() { received.insert(message) }
            try await group.waitForAll()
        }
        #expect(stage.attempts.total == 4 && stage.attempts.mostAtOnce == 1)
    }

    @Test func `a message in pieces is one event`() async throws {
        var configuration = WebSocketConfiguration()
        configuration.delivery = .chunks
        let stage = Stage(configuration: configuration)
        var reader = stage.eventReader()
        let peer = try await stage.accept()
        let ticket = try await peer.beginMessage()
        for (text, isLast) in [("one ", false), ("message", true)] {
            try await peer.send(MessageChunk(kind: .text, bytes: Array(text.utf8), isLast: isLast), of: ticket)
        }
        #expect(await reader.next() == .opened)
        #expect(await reader.next() == .message(.text("one message")))
    }

    @Test func `a partial message of a lost connection is not part of the next message`() async throws {
        var configuration = WebSocketConfiguration()
        configuration.delivery = .chunks
        let stage = Stage(configuration: configuration)
        var reader = stage.eventReader()
        let first = try await stage.accept()
        let ticket = try await first.beginMessage()
        try await first.send(MessageChunk(kind: .text, bytes: Array("half".utf8), isLast: false), of: ticket)
        _ = try await first.ping(timeout: .seconds(20))
        first.cut()
        #expect(await reader.next() == .opened)
        #expect(await reader.next() == .reconnecting(attempt: 2, delay: .seconds(1), .lost))
        await stage.pause()
        try await stage.accept().send(.text("whole"))
        #expect(await reader.next() == .opened)
        #expect(await reader.next() == .message(.text("whole")))
    }
}
