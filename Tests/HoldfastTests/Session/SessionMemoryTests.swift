import Holdfast
import HoldfastTesting
import Testing

@Suite(.timeLimit(.minutes(1))) struct SessionMemoryTests {
    private struct Trace { weak var transport: (any MessageTransport)? }

    @Test func `pain 13: no leak per reconnect`() async throws {
        let stage = Stage()
        var events = stage.socket.events.makeAsyncIterator()
        var traces: [Trace] = []
        for round in 0...200 {
            let peer = try await stage.accept()
            guard case .opened(let opening)? = await events.nextButStates() else { throw CancellationError() }
            let connection = opening.connection
            traces += [Trace(transport: connection.transport), Trace(transport: peer)]
            try await peer.send(.text("\(round)"))
            guard case .message(.text("\(round)"))? = await events.nextButStates() else { throw CancellationError() }
            guard round < 200 else {
                // The present connection is there, and none of those before it.
                #expect(traces.map { $0.transport == nil } == Array(repeating: true, count: 400) + [false, false])
                return withExtendedLifetime((connection, peer)) {}
            }
            peer.cut()
            guard case .reconnecting? = await events.nextButStates() else { throw CancellationError() }
            await stage.pause()
        }
    }

    @Test func `attempts that fail while nobody listens leave the news of the last`() async throws {
        let stage = Stage()
        for _ in 1...500 {
            try await stage.refuse()
            await stage.pause()
        }
        _ = try await stage.accept()
        var story = stage.story()
        #expect(await story.next() == .reconnecting(attempt: 501, delay: .seconds(30), .unreachable))
        #expect(await story.next() == .opened)
    }

    @Test func `a consumer that never reads stops the reconnecting, and starts it again when it reads`() async throws {
        let stage = Stage()
        for number in 1...8 {
            let peer = try await stage.accept()
            try await peer.send(.text("\(number)"))
            _ = try await peer.ping(timeout: .seconds(20))
            peer.cut()
            await stage.pause()
        }
        // The pause is over, and no ninth connection is tried: nothing more could be kept for the consumer.
        try await otherThingsHappen()
        #expect(stage.attempts.total == 8)
        var story = stage.story()
        for number in 1...8 {
            #expect(await story.next() == .opened)
            #expect(await story.next() == .message(.text("\(number)")))
            guard case .reconnecting? = await story.next() else { throw CancellationError() }
        }
        _ = try await stage.accept()
        #expect(await story.next() == .opened)
        #expect(stage.attempts.total == 9)
    }

    @Test func `closing one whose consumer never reads tries nothing more`() async throws {
        let stage = Stage()
        for _ in 1...8 {
            try await stage.accept().cut()
            await stage.pause()
        }
        try await otherThingsHappen()
        await stage.socket.close()
        var story = stage.story()
        while let chapter = await story.next(), chapter != .closed(nil) {}
        try await otherThingsHappen()
        #expect(stage.attempts.total == 8)
    }

    /// Gives what must not happen the time to happen: another socket lives through much.
    private func otherThingsHappen() async throws {
        let stage = Stage()
        for _ in 1...50 {
            try await stage.refuse()
            await stage.pause()
        }
    }

    @Test func `a consumer that never reads keeps a bounded number of messages, and the peer waits`() async throws {
        var configuration = WebSocketConfiguration()
        (configuration.limits.receiveBuffer, configuration.limits.sendBuffer) = (1000, 1000)
        let stage = Stage(configuration: configuration)
        let peer = try await stage.accept()
        let sending = Task {
            for number in 0..<1000 { try await peer.send(.text("\(number)")) }
        }
        var story = stage.story()
        #expect(await story.next() == .opened)
        for number in 0..<1000 { #expect(await story.next() == .message(.text("\(number)"))) }
        try await sending.value
    }

    @Test func `a cancelled loop over the events loses nothing`() async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        var seen: [Message] = []
        for number in 0..<100 {
            let listening = Task { () -> [Message] in
                var seen: [Message] = []
                for await case .message(let message) in stage.socket.events { seen.append(message) }
                return seen
            }
            try await peer.send(.text("\(number)"))
            if number.isMultiple(of: 2) { _ = try await peer.ping(timeout: .seconds(20)) }
            listening.cancel()
            seen += await listening.value
        }
        await stage.socket.close()
        for await case .message(let message) in stage.socket.events { seen.append(message) }
        #expect(seen == (0..<100).map { .text("\($0)") })
    }
}
