import Holdfast
import HoldfastTesting
import Testing
import WebSocketCore

/// What the app's coming and going, and the network's, means for a socket.
@Suite(.timeLimit(.minutes(1))) struct SessionSurroundingsTests {
    private static let home = NetworkPath(.wifi, interface: "en0")

    @Test func `in the background the connection is closed after the grace, and the foreground brings another at once`() async throws {
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

    @Test func `a network that returns cuts a long wait short`() async throws {
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

    @Test func `without a network nothing is tried`() async throws {
        let stage = Stage()
        try await stage.refuse()
        await stage.socket.notify(.unsatisfied)
        await stage.state { if case .held = $0 { true } else { false } }
        stage.clock.advance(by: .seconds(3600))
        await stage.socket.notify(.satisfied(Self.home))
        // An attempt of the time without a network would count the failure before it.
        let attempt = try #require(await stage.server.nextAttempt())
        #expect(attempt.request.number == 1)
    }

    @Test func `a connection whose path is lost is asked at once, and given up when it is silent`() async throws {
        var configuration = WebSocketConfiguration()
        (configuration.timeouts.ping, configuration.timeouts.pingInterval) = (.milliseconds(200), nil)
        let stage = Stage(configuration: configuration)
        var story = stage.story()
        let peer = try await stage.accept()
        #expect(await story.next() == .opened)
        peer.stall()
        await stage.socket.notify(.notViable)
        #expect(await story.next() == .reconnecting(attempt: 2, delay: .seconds(1), .unresponsive))
    }

    @Test func `endpoints take turns`() async throws {
        let stage = Stage { $0.alternatives = ["wss://b.example.com", "wss://c.example.com"] }
        for endpoint in [0, 1, 2, 0] {
            let attempt = try #require(await stage.server.nextAttempt())
            #expect(attempt.request.endpoint == endpoint)
            attempt.refuse(.down)
            await stage.pause()
        }
    }

    @Test func `a server that says when to come back is heeded`() async throws {
        let stage = Stage()
        var story = stage.story()
        var busy = TransportError.refused(503)
        busy.response?.headers["Retry-After"] = "120"
        try await stage.refuse(busy)
        #expect(await story.next() == .reconnecting(attempt: 2, delay: .seconds(120), .refused))
    }

    @Test func `the states are told, the last one too`() async throws {
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
