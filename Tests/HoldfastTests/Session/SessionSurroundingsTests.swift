import Holdfast
import HoldfastTesting
import Testing
import WebSocketCore

/// How the app's background and foreground and the network affect a socket.
@Suite(.timeLimit(.minutes(1))) struct SessionSurroundingsTests {
    private static let home = NetworkPath(.wifi, interface: "en0")

    @Test func `in the background the connection is closed after a grace period, and the foreground connects again at once`() async throws {
        let stage = Stage()
        let first = try await stage.accept()
        await stage.state { if case .connected = $0 { true } else { false } }
        await stage.socket.notify(.background)
        await stage.pause(of: .seconds(3))
        guard case .success(let record) = await first.ended() else { return #expect(Bool(false), "no close handshake") }
        #expect(record.code == .goingAway)
        await stage.state { if case .held = $0 { true } else { false } }
        await stage.socket.notify(.foreground)
        let second = try await stage.accept()
        await stage.state { if case .connected = $0 { true } else { false } }
        #expect(second.closeRecord == nil)
    }

    @Test func `a suspended app drops its connection at once`() async throws {
        let stage = Stage()
        let peer = try await stage.accept()
        await stage.state { if case .connected = $0 { true } else { false } }
        await stage.socket.notify(.suspended)
        guard case .failure(let error) = await peer.ended() else { return #expect(Bool(false), "a close handshake") }
        #expect(error.code == .lost)
    }

    @Test func `a returning network ends a long wait`() async throws {
        let stage = Stage()
        for _ in 1...4 {
            try await stage.refuse()
            await stage.pause()
        }
        try await stage.refuse()
        let wait = await stage.clock.nextSleep()
        #expect(wait == .seconds(16))
        stage.clock.advance(by: .seconds(2))
        await stage.socket.notify(.unsatisfied)
        await stage.socket.notify(.satisfied(Self.home))
        let attempt = try #require(await stage.server.nextAttempt())
        #expect(attempt.request.number == 1)
    }

    @Test func `without a network there are no attempts`() async throws {
        let stage = Stage()
        try await stage.refuse()
        await stage.socket.notify(.unsatisfied)
        await stage.state { if case .held = $0 { true } else { false } }
        stage.clock.advance(by: .seconds(3600))
        await stage.socket.notify(.satisfied(Self.home))
        // An attempt made without a network would have increased the attempt's number.
        let attempt = try #require(await stage.server.nextAttempt())
        #expect(attempt.request.number == 1)
    }

    @Test func `a connection whose path is lost gets a ping at once, and ends if there is no answer`() async throws {
        var configuration = WebSocketConfiguration()
        (configuration.timeouts.ping, configuration.timeouts.pingInterval) = (.milliseconds(200), nil)
        let stage = Stage(configuration: configuration)
        var reader = stage.eventReader()
        let peer = try await stage.accept()
        #expect(await reader.next() == .opened)
        peer.stall()
        await stage.socket.notify(.notViable)
        #expect(await reader.next() == .reconnecting(attempt: 2, delay: .seconds(1), .unresponsive))
    }

    @Test func `the endpoints are used in turn`() async throws {
        let stage = Stage { $0.alternatives = ["wss://b.example.com", "wss://c.example.com"] }
        for endpoint in [0, 1, 2, 0] {
            let attempt = try #require(await stage.server.nextAttempt())
            #expect(attempt.request.endpoint == endpoint)
            attempt.refuse(.down)
            await stage.pause()
        }
    }

    @Test func `a Retry-After of the server sets the delay`() async throws {
        let stage = Stage()
        var reader = stage.eventReader()
        var busy = TransportError.refused(503)
        busy.response?.headers["Retry-After"] = "120"
        try await stage.refuse(busy)
        #expect(await reader.next() == .reconnecting(attempt: 2, delay: .seconds(120), .refused))
    }

    @Test func `the states sequence has every state up to the last one`() async throws {
        let stage = Stage()
        var states = stage.socket.states.makeAsyncIterator()
        try await stage.refuse()
        await stage.state { if case .waiting = $0 { true } else { false } }
        await stage.pause()
        let peer = try await stage.accept()
        await stage.state { if case .connected = $0 { true } else { false } }
        async let closing: Void = stage.socket.close()
        _ = await peer.ended()
        await closing
        var last: WebSocketState?
        while let state = await states.next() { last = state }
        guard case .closed(nil) = last else { return #expect(Bool(false), "\(String(describing: last))") }
    }
}
