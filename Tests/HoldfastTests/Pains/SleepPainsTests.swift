import Holdfast
import HoldfastTesting
import WebSocketRuntime
import Testing

/// wire-webapp#21655, "lock stuck after sleep": the machine sleeps for hours, wherever the session stands, and the clock has moved on.
@Suite(.timeLimit(.minutes(1))) struct SleepPainsTests {
    private static let night = Duration.seconds(8 * 3600)

    /// A provider that says nothing the first time, and gives what it is asked for from then on.
    private final class Forgetful: Sendable {
        private let count = LockedValue(0)
        /// `talk` keeps the silence going.
        private let (silence, talk) = AsyncStream.makeStream(of: Never.self)

        func next() async -> Credential {
            let number = count.withLockedValue { count in
                count += 1
                return count
            }
            if number == 1 { for await _ in silence {} }
            return Credential("token-\(number)")
        }
    }

    @Test func `lock stuck after sleep: a wait that ended meanwhile is over at once`() async throws {
        let stage = Stage()
        var story = stage.story()
        for attempt in 2...6 {
            try await stage.refuse()
            guard case .reconnecting(attempt, _, .unreachable)? = await story.next() else { throw CancellationError() }
            if attempt < 6 { await stage.pause() }
        }
        #expect(await stage.clock.nextSleep() == .seconds(16))
        stage.clock.advance(by: Self.night)
        let peer = try await stage.accept()
        #expect(await story.next() == .opened)
        try await stage.socket.send(.text("good morning"))
        #expect(try await peer.receive() == .message(.text("good morning")))
    }

    @Test func `lock stuck after sleep: a connection that died meanwhile is replaced without a long wait`() async throws {
        let stage = Stage()
        var story = stage.story()
        for _ in 1...3 {
            try await stage.refuse()
            _ = await story.next()
            await stage.pause()
        }
        let first = try await stage.accept()
        #expect(await story.next() == .opened)
        stage.clock.advance(by: Self.night)
        first.cut()
        #expect(await story.next() == .reconnecting(attempt: 1, delay: .seconds(1), .lost))
        #expect(await stage.pause() == .seconds(1))
        let second = try await stage.accept()
        #expect(await story.next() == .opened)
        try await second.send(.text("good morning"))
        #expect(await story.next() == .message(.text("good morning")))
    }

    @Test func `lock stuck after sleep: a credential being fetched is asked for again, and a send that waited ends`() async throws {
        let provider = Forgetful()
        let stage = Stage { $0.credentials = .bearer { await provider.next() } }
        var story = stage.story()
        #expect(await stage.clock.nextSleep() == .seconds(30), "the provider's time")
        let sending = Task { await code { () async throws(WebSocketError) in try await stage.socket.send(.text("tonight")) } }
        await stage.waiting(1)
        stage.clock.advance(by: Self.night)
        #expect(await sending.value == .timedOut)
        #expect(await story.next() == .reconnecting(attempt: 2, delay: .seconds(1), .noCredential))
        await stage.pause()
        let attempt = try #require(await stage.server.nextAttempt())
        #expect(attempt.request.credential?.secret == "token-2")
        let peer = attempt.accept()
        #expect(await story.next() == .opened)
        try await stage.socket.send(.text("good morning"))
        #expect(try await peer.receive() == .message(.text("good morning")))
    }

    @Test func `lock stuck after sleep: the grace of the background that ended meanwhile holds nothing up`() async throws {
        let stage = Stage()
        var story = stage.story()
        let first = try await stage.accept()
        #expect(await story.next() == .opened)
        await stage.socket.notify(.background)
        while await stage.clock.nextSleep() != .seconds(3) {}
        stage.clock.advance(by: Self.night)
        _ = await first.ended()
        await stage.socket.notify(.foreground)
        let second = try await stage.accept()
        #expect(await story.next() == .opened)
        try await second.send(.text("good morning"))
        #expect(await story.next() == .message(.text("good morning")))
    }
}
