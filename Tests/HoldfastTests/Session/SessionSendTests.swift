import Holdfast
import HoldfastTesting
import Testing

@Suite(.timeLimit(.minutes(1))) struct SessionSendTests {
    @Test func `a send waits for the connection`() async throws {
        let stage = Stage()
        let sending = Task { try await stage.socket.send(.text("patience"), timeout: .seconds(3600)) }
        try await stage.refuse()
        await stage.pause()
        let peer = try await stage.accept()
        _ = try await sending.value
        #expect(try await peer.receive() == .message(.text("patience")))
    }

    @Test func `a send on an open connection starts no timer`() async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        var story = stage.story()
        #expect(await story.next() == .opened)
        try await stage.socket.send(.text("at once"))
        #expect(try await peer.receive() == .message(.text("at once")))
        peer.cut()
        #expect(await stage.clock.nextSleep() == .seconds(1), "the first sleep is the pause before the next attempt")
    }

    @Test func `a send gives up when there is no connection in time, and says what kept it`() async throws {
        let stage = Stage()
        try await stage.refuse(.refused(503))
        #expect(await stage.clock.nextSleep() == .seconds(1))
        let sending = Task { try await stage.socket.send(.text("late"), timeout: .milliseconds(700)) }
        #expect(await stage.clock.nextSleep() == .milliseconds(700))
        stage.clock.advance(by: .milliseconds(700))
        let error = try #require(await #expect(throws: WebSocketError.self) { try await sending.value })
        #expect(error.code == .timedOut && (error.underlying as? WebSocketError)?.httpStatus == 503)
    }

    @Test func `a cancelled send waits no more`() async throws {
        let stage = Stage()
        let sending = Task { await code { () async throws(WebSocketError) in try await stage.socket.send(.text("never")) } }
        #expect(await stage.clock.nextSleep() == .seconds(30))
        sending.cancel()
        #expect(await sending.value == .cancelled)
        let peer = try await stage.accept()
        try await stage.socket.send(.text("first"))
        #expect(try await peer.receive() == .message(.text("first")))
    }

    @Test func `closing ends all waits`() async {
        let stage = Stage()
        let sending = Task { await code { () async throws(WebSocketError) in try await stage.socket.send(.text("never")) } }
        await stage.clock.nextSleep()
        await stage.socket.close()
        #expect(await sending.value == .closed)
        #expect(await code { () async throws(WebSocketError) in try await stage.socket.send(.text("never")) } == .closed)
    }

    @Test func `a send after the loss waits for the next connection`() async throws {
        let stage = Stage()
        let first = try await stage.accept()
        var story = stage.story()
        #expect(await story.next() == .opened)
        first.cut()
        guard case .failure = await first.ended() else { throw CancellationError() }
        #expect(await story.next() == .reconnecting(attempt: 2, delay: .seconds(1), .lost))
        let sending = Task { try await stage.socket.send(.text("again"), timeout: .seconds(3600)) }
        await stage.pause()
        let second = try await stage.accept()
        _ = try await sending.value
        #expect(try await second.receive() == .message(.text("again")))
    }
}
