import Holdfast
import HoldfastTesting
import WebSocketRuntime
import Testing

/// The machine sleeps for hours in any state of the session, and the clock has advanced (wire-webapp#21655, "lock stuck after sleep").
@Suite(.timeLimit(.minutes(1))) struct SleepPainsTests {
    private static let night = Duration.seconds(8 * 3600)

    /// A provider that never answers the first call, and gives a credential from then on.
    private final class StuckOnceProvider: Sendable {
        private let count = LockedValue(0)
        /// `talk` keeps the stream open.
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

    @Test func `after sleep a wait whose time has passed ends at once`() async throws {
        let stage = Stage()
        var reader = stage.eventReader()
        for attempt in 2...6 {
            try await stage.refuse()
            guard case .reconnecting(attempt, _, .unreachable)? = await reader.next() else { throw CancellationError() }
            if attempt < 6 { await stage.pause() }
        }
        #expect(await stage.clock.nextSleep() == .seconds(16))
        stage.clock.advance(by: Self.night)
        let peer = try await stage.accept()
        #expect(await reader.next() == .opened)
        try await stage.socket.send(.text("good morning"))
        #expect(try await peer.receive() == .message(.text("good morning")))
    }

    @Test func `after sleep a connection that broke meanwhile is replaced without a long wait`() async throws {
        let stage = Stage()
        var reader = stage.eventReader()
        for _ in 1...3 {
            try await stage.refuse()
            _ = await reader.next()
            await stage.pause()
        }
        let first = try await stage.accept()
        #expect(await reader.next() == .opened)
        stage.clock.advance(by: Self.night)
        first.cut()
        #expect(await reader.next() == .reconnecting(attempt: 1, delay: .seconds(1), .lost))
        #expect(await stage.pause() == .seconds(1))
        let second = try await stage.accept()
        #expect(await reader.next() == .opened)
        try await second.send(.text("good morning"))
        #expect(await reader.next() == .message(.text("good morning")))
    }

    @Test func `after sleep a credential fetch that timed out is repeated, and a waiting send times out`() async throws {
        let provider = StuckOnceProvider()
        let stage = Stage { $0.credentials = .bearer { await provider.next() } }
        var reader = stage.eventReader()
        #expect(await stage.clock.nextSleep() == .seconds(30), "the timeout of the provider")
        let sending = Task { await code { () async throws(WebSocketError) in try await stage.socket.send(.text("tonight")) } }
        await stage.waiting(1)
        stage.clock.advance(by: Self.night)
        #expect(await sending.value == .timedOut)
        #expect(await reader.next() == .reconnecting(attempt: 2, delay: .seconds(1), .noCredential))
        await stage.pause()
        let attempt = try #require(await stage.server.nextAttempt())
        #expect(attempt.request.credential?.secret == "token-2")
        let peer = attempt.accept()
        #expect(await reader.next() == .opened)
        try await stage.socket.send(.text("good morning"))
        #expect(try await peer.receive() == .message(.text("good morning")))
    }

    @Test func `after sleep the grace period of the background, which has ended, delays nothing`() async throws {
        let stage = Stage()
        var reader = stage.eventReader()
        let first = try await stage.accept()
        #expect(await reader.next() == .opened)
        await stage.socket.notify(.background)
        while await stage.clock.nextSleep() != .seconds(3) {}
        stage.clock.advance(by: Self.night)
        _ = await first.ended()
        await stage.socket.notify(.foreground)
        let second = try await stage.accept()
        #expect(await reader.next() == .opened)
        try await second.send(.text("good morning"))
        #expect(await reader.next() == .message(.text("good morning")))
    }
}
