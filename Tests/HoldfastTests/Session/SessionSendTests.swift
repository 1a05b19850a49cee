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
        var reader = stage.eventReader()
        #expect(await reader.next() == .opened)
        try await stage.socket.send(.text("at once"))
        #expect(try await peer.receive() == .message(.text("at once")))
        peer.cut()
        #expect(await stage.clock.nextSleep() == .seconds(1), "the first sleep is the pause before the next attempt")
    }

    @Test func `a send without a connection times out, with the reason why there is none`() async throws {
        let stage = Stage()
        try await stage.refuse(.refused(503))
        #expect(await stage.clock.nextSleep() == .seconds(1))
        let sending = Task { try await stage.socket.send(.text("late"), timeout: .milliseconds(700)) }
        #expect(await stage.clock.nextSleep() == .milliseconds(700))
        stage.clock.advance(by: .milliseconds(700))
        let error = try #require(await #expect(throws: WebSocketError.self) { try await sending.value })
        #expect(error.code == .timedOut && (error.underlying as? WebSocketError)?.httpStatus == 503)
        #expect(error.description.contains("no connection took it in time (the server answered 503)"))
    }

    @Test func `calls on a socket that ended with a wrong URL report the URL problem, even after close`() async throws {
        let socket = WebSocket("http://example.com/")
        // Before the socket has ended, a ping would fail because there is no connection.
        for await state in socket.states { if case .closed = state { break } }
        for _ in 1...2 {
            let errors = [
                await #expect(throws: WebSocketError.self) { try await socket.send(.text("never")) },
                await #expect(throws: WebSocketError.self) { try await socket.ping() },
                await #expect(throws: WebSocketError.self) { _ = try await socket.request(.text("never"), matching: { _ in true }) },
            ]
            for error in errors {
                let cause = try #require(error?.underlying as? WebSocketError)
                #expect(error?.code == .closed && cause.code == .invalidURL)
                #expect(error?.description.hasSuffix("the socket is closed (\(cause.transport.detail))") == true)
            }
            await socket.close()
        }
    }

    @Test func `an error before a connection is not the cause of a later one`() async throws {
        let stage = Stage()
        try await stage.refuse()
        await stage.pause()
        _ = try await stage.accept()
        await stage.state { if case .connected = $0 { true } else { false } }
        await stage.socket.close()
        let error = await #expect(throws: WebSocketError.self) { try await stage.socket.send(.text("never")) }
        #expect(error?.description == "the message was not sent: the socket is closed" && error?.underlying == nil)
    }

    @Test func `a request that times out reports why there is no connection`() async throws {
        let stage = Stage()
        try await stage.refuse()
        // The error gives the cause, which the socket learns after the server has refused.
        await stage.state { if case .waiting = $0 { true } else { false } }
        let asking = Task { try await stage.socket.request(.text("never"), matching: { _ in true }, timeout: .milliseconds(700)) }
        await stage.pause(of: .milliseconds(700))
        let error = await #expect(throws: WebSocketError.self) { _ = try await asking.value }
        #expect(error?.code == .timedOut && (error?.underlying as? WebSocketError)?.code == .unreachable)
        #expect(error?.description.contains("(the server is down)") == true)
    }

    @Test func `a cancelled send stops waiting`() async throws {
        let stage = Stage()
        let sending = Task { await code { () async throws(WebSocketError) in try await stage.socket.send(.text("never")) } }
        #expect(await stage.clock.nextSleep() == .seconds(30))
        sending.cancel()
        #expect(await sending.value == .cancelled)
        let peer = try await stage.accept()
        try await stage.socket.send(.text("first"))
        #expect(try await peer.receive() == .message(.text("first")))
    }

    @Test func `closing ends all waiting sends`() async {
        let stage = Stage()
        let sending = Task { await code { () async throws(WebSocketError) in try await stage.socket.send(.text("never")) } }
        await stage.clock.nextSleep()
        await stage.socket.close()
        #expect(await sending.value == .closed)
        #expect(await code { () async throws(WebSocketError) in try await stage.socket.send(.text("never")) } == .closed)
    }

    @Test func `a send after a loss waits for the next connection`() async throws {
        let stage = Stage()
        let first = try await stage.accept()
        var reader = stage.eventReader()
        #expect(await reader.next() == .opened)
        first.cut()
        guard case .failure = await first.ended() else { throw CancellationError() }
        #expect(await reader.next() == .reconnecting(attempt: 2, delay: .seconds(1), .lost))
        let sending = Task { try await stage.socket.send(.text("again"), timeout: .seconds(3600)) }
        await stage.pause()
        let second = try await stage.accept()
        _ = try await sending.value
        #expect(try await second.receive() == .message(.text("again")))
    }
}
