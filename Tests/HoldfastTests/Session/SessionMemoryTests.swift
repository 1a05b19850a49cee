import Holdfast
import HoldfastTesting
import Testing

@Suite(.timeLimit(.minutes(1))) struct SessionMemoryTests {
    private struct Trace { weak var transport: (any MessageTransport)? }

    @Test func `pain 13: reconnects do not leak connections`() async throws {
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
                // Only the current connection still exists.
                #expect(traces.map { $0.transport == nil } == Array(repeating: true, count: 400) + [false, false])
                return withExtendedLifetime((connection, peer)) {}
            }
            peer.cut()
            guard case .reconnecting? = await events.nextButStates() else { throw CancellationError() }
            await stage.pause()
        }
    }

    @Test func `of failed attempts without consumers only the last one is kept`() async throws {
        let stage = Stage()
        for _ in 1...500 {
            try await stage.refuse()
            await stage.pause()
        }
        _ = try await stage.accept()
        var reader = stage.eventReader()
        #expect(await reader.next() == .reconnecting(attempt: 501, delay: .seconds(30), .unreachable))
        #expect(await reader.next() == .opened)
    }

    @Test func `a consumer that never reads stops the reconnecting until it reads`() async throws {
        let stage = Stage()
        for number in 1...8 {
            let peer = try await stage.accept()
            try await peer.send(.text("\(number)"))
            _ = try await peer.ping(timeout: .seconds(20))
            peer.cut()
            await stage.pause()
        }
        // The pause is over, but there is no ninth attempt, because the consumer's buffer is full.
        try await letOtherSocketsRun()
        #expect(stage.attempts.total == 8)
        var reader = stage.eventReader()
        for number in 1...8 {
            #expect(await reader.next() == .opened)
            #expect(await reader.next() == .message(.text("\(number)")))
            guard case .reconnecting? = await reader.next() else { throw CancellationError() }
        }
        _ = try await stage.accept()
        #expect(await reader.next() == .opened)
        #expect(stage.attempts.total == 9)
    }

    @Test func `closing a socket whose consumer never reads starts no more attempts`() async throws {
        let stage = Stage()
        for _ in 1...8 {
            try await stage.accept().cut()
            await stage.pause()
        }
        try await letOtherSocketsRun()
        await stage.socket.close()
        var reader = stage.eventReader()
        while let event = await reader.next(), event != .closed(nil) {}
        try await letOtherSocketsRun()
        #expect(stage.attempts.total == 8)
    }

    /// Gives an unwanted event time to happen: another socket makes many attempts.
    private func letOtherSocketsRun() async throws {
        let stage = Stage()
        for _ in 1...50 {
            try await stage.refuse()
            await stage.pause()
        }
    }

    @Test func `a consumer that never reads keeps a limited number of messages, and the peer waits`() async throws {
        var configuration = WebSocketConfiguration()
        (configuration.limits.receiveBuffer, configuration.limits.sendBuffer) = (1000, 1000)
        let stage = Stage(configuration: configuration)
        let peer = try await stage.accept()
        let sending = Task {
            for number in 0..<1000 { try await peer.send(.text("\(number)")) }
        }
        var reader = stage.eventReader()
        #expect(await reader.next() == .opened)
        for number in 0..<1000 { #expect(await reader.next() == .message(.text("\(number)"))) }
        try await sending.value
    }

    @Test func `a cancelled loop over the events loses no message`() async throws {
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
