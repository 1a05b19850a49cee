import HoldfastTesting
import InMemoryLogging
import Logging
import Testing

@testable import Holdfast

/// Which lines a session logs, and at which level.
@Suite(.timeLimit(.minutes(1))) struct SightLogTests {
    private let sight = Sight()

    @Test func `a life is told: attempts and waits for who debugs, openings for all, losses as notices`() async throws {
        let stage = sight.stage()
        var story = stage.story()
        try await stage.refuse()
        _ = await story.next()
        await stage.pause(of: .seconds(1))
        let peer = try await stage.accept()
        #expect(await story.next() == .opened)
        peer.cut()
        _ = await story.next()
        #expect(
            sight.log == [
                "debug: connecting", "info: could not connect", "debug: waiting", "debug: connecting", "info: connected",
                "notice: connection lost", "debug: waiting",
            ])
    }

    @Test func `a line says which attempt it was, what failed, and how long the next wait is`() async throws {
        let stage = sight.stage()
        var story = stage.story()
        try await stage.refuse(.refused(503))
        _ = await story.next()
        await stage.pause(of: .seconds(1))
        _ = try await stage.accept()
        _ = await story.next()
        #expect(sight.entries("could not connect").first?.metadata == ["error": "refused", "status": "503"])
        #expect(sight.entries("connecting").last?.metadata == ["attempt": "2"])
        #expect(sight.entries("connected").first?.metadata["attempt"] == "2")
        #expect(sight.entries("waiting").first?.metadata["delay"] != nil)
    }

    @Test func `a close is told with its code's name and who closed, and without the peer's words`() async throws {
        let stage = sight.stage()
        var story = stage.story()
        let peer = try await stage.accept()
        _ = await story.next()
        _ = await peer.close(CloseFrame(.goingAway, reason: "the peer's words"))
        _ = await story.next()
        let line = try #require(sight.entries("connection lost").first)
        #expect(line.metadata == ["error": "closed", "code": "1001 (going away)", "closed_by": "the peer"])
    }

    @Test func `an end that nothing can mend is an error, and one that was asked for is not`() async throws {
        let given = sight.stage()
        var story = given.story()
        try await given.refuse(.refused(403))
        while let chapter = await story.next() { if case .closed = chapter { break } }
        #expect(sight.log.last == "error: given up")
        #expect(sight.entries("given up").first?.metadata == ["error": "refused", "status": "403"])

        let asked = Sight()
        let stage = asked.stage()
        let peer = try await stage.accept()
        defer { withExtendedLifetime(peer) {} }
        await stage.state { if case .connected = $0 { true } else { false } }
        await stage.socket.close()
        #expect(await Sight.eventually { Set(asked.log.suffix(2)) == ["info: closed", "info: disconnected"] })
        #expect(asked.entries("disconnected").first?.metadata["code"] == "1000 (normal closure)")
    }

    @Test func `round trips and what is carried are for who traces`() async throws {
        let stage = sight.stage(from: .trace)
        let peer = try await stage.accept()
        defer { withExtendedLifetime(peer) {} }
        await stage.state { if case .connected = $0 { true } else { false } }
        stage.socket.session.instruments.roundTrip(.milliseconds(12))
        #expect(sight.entries("round trip").first?.metadata == ["rtt": "0.012 seconds"])
        await stage.pause(of: .seconds(10))
        #expect(await Sight.eventually { !sight.entries("carried").isEmpty })
        #expect(sight.lines.entries.allSatisfy { $0.message != "carried" || $0.level == .trace })
    }

    @Test func `messages that are dropped fill no log: a line for the first, and when their number has doubled`() {
        let instruments = sight.stage().socket.session.instruments
        for _ in 1...1000 { instruments.dropped() }
        #expect(sight.entries("messages dropped").map(\.metadata) == (0...9).map { ["total": "\(1 << $0)"] })
        instruments.dropped(5000)
        #expect(sight.entries("messages dropped").last?.metadata == ["total": "6000"])
    }

    @Test func `a missing credential is told as what it is`() async throws {
        let stage = sight.stage { $0.credentials = .bearer { throw CredentialUnavailable(isRetryable: true, "user tim@example.com") } }
        var story = stage.story()
        _ = await story.next()
        let line = try #require(sight.entries("could not connect").first)
        #expect(line.metadata == ["error": "noCredential", "detail": "the provider of credentials failed"])
        #expect(sight.count("errors", [("kind", "noCredential")]) == 1)
    }

    @Test func `by default nothing is logged`() {
        #expect(WebSocketOptions().logger.logLevel == .critical)
        #expect(WebSocketOptions().logger.handler is SwiftLogNoOpLogHandler)
    }
}
