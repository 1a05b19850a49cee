import HoldfastTesting
import InMemoryLogging
import Logging
import Testing

@testable import Holdfast

/// The lines that a session logs, and their levels.
@Suite(.timeLimit(.minutes(1))) struct SightLogTests {
    private let sight = Sight()

    @Test func `attempts and waits are logged as debug, connections as info and losses as notice`() async throws {
        let stage = sight.stage()
        var reader = stage.eventReader()
        try await stage.refuse()
        _ = await reader.next()
        await stage.pause(of: .seconds(1))
        let peer = try await stage.accept()
        #expect(await reader.next() == .opened)
        peer.cut()
        _ = await reader.next()
        #expect(
            sight.log == [
                "debug: connecting", "info: could not connect", "debug: waiting", "debug: connecting", "info: connected",
                "notice: connection lost", "debug: waiting",
            ])
    }

    @Test func `a line has the attempt's number, the error and the delay of the next wait`() async throws {
        let stage = sight.stage()
        var reader = stage.eventReader()
        try await stage.refuse(.refused(503))
        _ = await reader.next()
        await stage.pause(of: .seconds(1))
        _ = try await stage.accept()
        _ = await reader.next()
        #expect(sight.entries("could not connect").first?.metadata == ["error": "refused", "status": "503"])
        #expect(sight.entries("connecting").last?.metadata == ["attempt": "2"])
        #expect(sight.entries("connected").first?.metadata["attempt"] == "2")
        #expect(sight.entries("waiting").first?.metadata["delay"] != nil)
    }

    @Test func `a loss line has the name of the close code and who closed, but not the peer's reason`() async throws {
        let stage = sight.stage()
        var reader = stage.eventReader()
        let peer = try await stage.accept()
        _ = await reader.next()
        _ = await peer.close(CloseFrame(.goingAway, reason: "the peer's words"))
        _ = await reader.next()
        let line = try #require(sight.entries("connection lost").first)
        #expect(line.metadata == ["error": "closed", "code": "1001 (going away)", "closed_by": "the peer"])
    }

    @Test func `a final failure is logged as an error, and a requested close is not`() async throws {
        let failed = sight.stage()
        var reader = failed.eventReader()
        try await failed.refuse(.refused(403))
        while let event = await reader.next() { if case .closed = event { break } }
        #expect(sight.log.last == "error: given up")
        #expect(sight.entries("given up").first?.metadata == ["error": "refused", "status": "403"])

        let closedByApp = Sight()
        let stage = closedByApp.stage()
        let peer = try await stage.accept()
        defer { withExtendedLifetime(peer) {} }
        await stage.state { if case .connected = $0 { true } else { false } }
        await stage.socket.close()
        #expect(await Sight.eventually { Set(closedByApp.log.suffix(2)) == ["info: closed", "info: disconnected"] })
        #expect(closedByApp.entries("disconnected").first?.metadata["code"] == "1000 (normal closure)")
    }

    @Test func `round trips and traffic are logged at the level trace`() async throws {
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

    @Test func `dropped messages log a line for the first one and whenever their number has doubled`() {
        let instruments = sight.stage().socket.session.instruments
        for _ in 1...1000 { instruments.dropped() }
        #expect(sight.entries("messages dropped").map(\.metadata) == (0...9).map { ["total": "\(1 << $0)"] })
        instruments.dropped(5000)
        #expect(sight.entries("messages dropped").last?.metadata == ["total": "6000"])
    }

    @Test func `a missing credential is logged as such`() async throws {
        let stage = sight.stage { $0.credentials = .bearer { throw CredentialUnavailable(isRetryable: true, "user tim@example.com") } }
        var reader = stage.eventReader()
        _ = await reader.next()
        let line = try #require(sight.entries("could not connect").first)
        #expect(line.metadata == ["error": "noCredential", "detail": "the provider of credentials failed"])
        #expect(sight.count("errors", [("kind", "noCredential")]) == 1)
    }

    @Test func `by default nothing is logged`() {
        #expect(WebSocketOptions().logger.logLevel == .critical)
        #expect(WebSocketOptions().logger.handler is SwiftLogNoOpLogHandler)
    }
}
