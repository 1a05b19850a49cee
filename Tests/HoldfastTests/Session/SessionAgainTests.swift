import Foundation
import HoldfastTesting
import Testing

@testable import Holdfast

/// A socket that the app closes, opens again and tells to try now.
@Suite(.timeLimit(.minutes(1))) struct SessionAgainTests {
    private func isDisconnected(_ state: WebSocketState) -> Bool { if case .disconnected = state { true } else { false } }

    @Test func `whoever follows stays attached while the app disconnects and connects again`() async throws {
        let stage = Stage()
        var story = stage.story()
        var texts = stage.socket.stream(of: String.self).makeAsyncIterator()
        let first = try await stage.accept()
        #expect(await story.next() == .opened)
        #expect(stage.socket.isConnected)
        try await first.send(.text("one"))
        #expect(try await texts.next() == "one")
        #expect(await story.next() == .message(.text("one")))
        await stage.socket.disconnect(code: .goingAway, reason: "later")
        #expect(first.closeRecord?.received == CloseFrame(.goingAway, reason: "later"))
        #expect(first.closeRecord?.isClean == true)
        #expect(!stage.socket.isConnected && isDisconnected(stage.socket.state))
        #expect(stage.socket.statistics.losses == [:])
        stage.clock.advance(by: .seconds(3600))
        #expect(stage.attempts.total == 1)
        await stage.socket.connect()
        let second = try await stage.accept()
        #expect(await story.next() == .opened)
        try await second.send(.text("two"))
        #expect(try await texts.next() == "two")
        #expect(await story.next() == .message(.text("two")))
        await stage.socket.close()
        #expect(await story.next() == .closed(nil))
        #expect(try await texts.next() == nil)
        await stage.socket.connect()
        await stage.socket.disconnect()
        #expect(stage.attempts.total == 2)
    }

    @Test func `what is sent while disconnected waits for the next connection`() async throws {
        let stage = Stage(sending: .queue(10))
        _ = try await stage.connect()
        await stage.socket.disconnect()
        try await stage.socket.send("waits")
        stage.clock.advance(by: .seconds(2))
        await stage.socket.connect()
        #expect(try await stage.accept().texts(1) == ["waits"])
    }

    @Test func `a socket that is told to disconnect at once does not connect until it is told to`() async throws {
        for _ in 0..<50 {
            let stage = Stage()
            await stage.socket.disconnect()
            await stage.socket.connect()
            _ = try await stage.accept()
        }
    }

    @Test func `while it waits, the app can have it try now`() async throws {
        let stage = Stage(ReconnectPolicy(backoff: Backoff(base: .seconds(20), jitter: .proportional(0))))
        var story = stage.story()
        try await stage.refuse()
        guard case .reconnecting(_, let delay, .unreachable) = await story.next() else { throw CancellationError() }
        #expect(delay >= .seconds(20))
        stage.clock.advance(by: .seconds(1))
        await stage.socket.reconnectNow()
        _ = try await stage.accept()
        #expect(await story.next() == .opened)
    }

    @Test func `without reconnecting a loss is told as a state with its cause, and the app connects again`() async throws {
        let stage = Stage { $0.reconnects = false }
        try await stage.refuse()
        await stage.state { if case .disconnected(let cause?) = $0 { cause.code == .unreachable } else { false } }
        #expect("\(stage.socket.state)".hasPrefix("disconnected: "))
        stage.clock.advance(by: .seconds(2))
        await stage.socket.connect()
        let peer = try await stage.accept()
        await stage.state(\.isConnected)
        peer.cut()
        await stage.state(isDisconnected)
        stage.clock.advance(by: .seconds(3600))
        #expect(stage.attempts.total == 2)
    }

    @Test func `URLs, headers and heartbeats can be written as hands write them`() async throws {
        let url = try #require(URL(string: "nonsense://x"))
        let socket = WebSocket(url) { options in
            options.headers["X-Client"] = "1"
            options.subprotocols = ["chat"]
            options.heartbeat = .every(.seconds(20))
            #expect(options.connection.headers["X-Client"] == "1" && options.connection.subprotocols == ["chat"])
        }
        for await event in socket.events {
            guard case .closed(let closure) = event else { continue }
            #expect(closure.error?.code == .invalidURL && closure.code == nil && closure.reason == "" && !closure.wasClean)
        }
    }

    @Test func `a closure has the code, the reason and whether it was clean`() async throws {
        let stage = Stage()
        var events = stage.socket.events.makeAsyncIterator()
        let peer = try await stage.connect()
        _ = await peer.close(CloseFrame(.normal, reason: "done"))
        while let event = await events.next() {
            guard case .closed(let closure) = event else { continue }
            #expect(closure.code == .normal && closure.reason == "done" && closure.wasClean)
            #expect("\(closure)" == "without an error, 1000 (normal closure)")
        }
    }

    @Test func `a heartbeat asks as often as it is told to`() async throws {
        let stage = HeartStage(options: { $0.heartbeat = .every(.seconds(7)) })
        _ = try await stage.accept()
        await stage.pause(of: .seconds(7))
    }
}
