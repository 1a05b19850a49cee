import Holdfast
import HoldfastTesting
import Testing

/// Connections that the session has given up, and that take their time to end.
@Suite(.timeLimit(.minutes(1))) struct SessionGivenUpTests {
    @Test func `a peer that never answers the close keeps nothing of the next connection from the app`() async throws {
        var configuration = WebSocketConfiguration()
        configuration.timeouts.close = .seconds(3600)
        let stage = Stage(configuration: configuration)
        var story = stage.story()
        let first = try await stage.accept()
        #expect(await story.next() == .opened)
        try await first.send(.text("before"))
        _ = try await first.ping(timeout: .seconds(20))
        first.stall()
        await stage.socket.notify(.background)
        await stage.pause(of: .seconds(3))
        await stage.state { if case .held = $0 { true } else { false } }
        await stage.socket.notify(.foreground)
        let second = try await stage.accept()
        try await second.send(.text("after"))
        #expect(await story.next() == .message(.text("before")))
        #expect(await story.next() == .opened)
        #expect(await story.next() == .message(.text("after")))
    }
}
