import Holdfast
import HoldfastTesting
import Testing

/// Connections that the session has given up and that end later.
@Suite(.timeLimit(.minutes(1))) struct SessionGivenUpTests {
    @Test func `a connection whose peer never answers the close does not delay the next one's messages`() async throws {
        var configuration = WebSocketConfiguration()
        configuration.timeouts.close = .seconds(3600)
        let stage = Stage(configuration: configuration)
        var reader = stage.eventReader()
        let first = try await stage.accept()
        #expect(await reader.next() == .opened)
        try await first.send(.text("before"))
        _ = try await first.ping(timeout: .seconds(20))
        first.stall()
        await stage.socket.notify(.background)
        await stage.pause(of: .seconds(3))
        await stage.state { if case .held = $0 { true } else { false } }
        await stage.socket.notify(.foreground)
        let second = try await stage.accept()
        try await second.send(.text("after"))
        #expect(await reader.next() == .message(.text("before")))
        #expect(await reader.next() == .opened)
        #expect(await reader.next() == .message(.text("after")))
    }
}
