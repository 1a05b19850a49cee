import Foundation
import HoldfastTesting
import Testing

@testable import Holdfast

/// A socket that the app disconnects, connects again and makes retry at once.
@Suite(.timeLimit(.minutes(1))) struct SessionAgainTests {
    private func isDisconnected(_ state: WebSocketState) -> Bool { if case .disconnected = state { true } else { false } }

    @Test func `a socket that does not connect at once waits for the app`() async throws {
        let stage = Stage { $0.connectsAtOnce = false }
        stage.clock.advance(by: .seconds(3600))
        #expect(stage.attempts.total == 0)
        await stage.socket.connect()
        _ = try await stage.accept()
        #expect(stage.attempts.total == 1)
        await stage.socket.close()
    }

    @Test func `consumers stay attached while the app disconnects and connects again`() async throws {
        let stage = Stage()
        var reader = stage.eventReader()
        var texts = stage.socket.stream(of: String.self).makeAsyncIterator()
        let first = try await stage.accept()
        #expect(await reader.next() == .opened)
        #expect(stage.socket.isConnected)
        try await first.send(.text("one"))
        #expect(try await texts.next() == "one")
        #expect(await reader.next() == .message(.text("one")))
        await stage.socket.disconnect(code: .goingAway, reason: "later")
        #expect(first.closeRecord?.received == CloseFrame(.goingAway, reason: "later"))
        #expect(first.closeRecord?.isClean == true)
        #expect(!stage.socket.isConnected && isDisconnected(stage.socket.state))
        #expect(stage.socket.statistics.losses == [:])
        stage.clock.advance(by: .seconds(3600))
        #expect(stage.attempts.total == 1)
        await stage.socket.connect()
        let second = try await stage.accept()
        #expect(await reader.next() == .opened)
        try await second.send(.text("two"))
        #expect(try await texts.next() == "two")
        #expect(await reader.next() == .message(.text("two")))
        await stage.socket.close()
        #expect(await reader.next() == .closed(nil))
        #expect(try await texts.next() == nil)
        await stage.socket.connect()
        await stage.socket.disconnect()
        #expect(stage.attempts.total == 2)
    }

    @Test func `a message sent while disconnected waits for the next connection`() async throws {
        let stage = Stage(sending: .queue(10))
        _ = try await stage.connect()
        await stage.socket.disconnect()
        try await stage.socket.send("waits")
        stage.clock.advance(by: .seconds(2))
        await stage.socket.connect()
        #expect(try await stage.accept().texts(1) == ["waits"])
    }

    @Test func `a socket that is disconnected at once connects only when told to`() async throws {
        for _ in 0..<50 {
            let stage = Stage()
            await stage.socket.disconnect()
            await stage.socket.connect()
            _ = try await stage.accept()
        }
    }

    @Test func `reconnectNow ends the wait for the next attempt`() async throws {
        let stage = Stage(ReconnectPolicy(backoff: Backoff(base: .seconds(20), jitter: .proportional(0))))
        var reader = stage.eventReader()
        try await stage.refuse()
        guard case .reconnecting(_, let delay, .unreachable) = await reader.next() else { throw CancellationError() }
        #expect(delay >= .seconds(20))
        stage.clock.advance(by: .seconds(1))
        await stage.socket.reconnectNow()
        _ = try await stage.accept()
        #expect(await reader.next() == .opened)
    }

    @Test func `without reconnecting a loss is a state with its cause, and the app can connect again`() async throws {
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

    @Test func `URLs, headers and heartbeats can be set with plain literals`() async throws {
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

    @Test func `a heartbeat sends pings at its interval`() async throws {
        let stage = HeartStage(options: { $0.heartbeat = .every(.seconds(7)) })
        _ = try await stage.accept()
        await stage.pause(of: .seconds(7))
    }
}
