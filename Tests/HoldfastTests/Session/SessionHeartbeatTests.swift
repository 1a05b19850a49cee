import Holdfast
import HoldfastServer
import HoldfastTesting
import ScriptedPeers
import Testing

/// Detection of dead connections of a socket, and the interval of its pings.
@Suite(.timeLimit(.minutes(1))) struct SessionHeartbeatTests {
    @Test func `a ping is sent on the current connection`() async throws {
        let stage = HeartStage()
        var reader = stage.eventReader()
        let first = try await stage.accept()
        #expect(await reader.next() == .opened)
        #expect(try await stage.socket.ping() == .zero)
        first.cut()
        await stage.pause(of: .seconds(1))
        let second = try await stage.accept()
        #expect(await reader.next() == .reconnecting(attempt: 2, delay: .seconds(1), .lost))
        #expect(await reader.next() == .opened)
        #expect(try await stage.socket.ping(timeout: .seconds(5)) == .zero)
        #expect(second.closeRecord == nil)
    }

    @Test func `a ping without a connection fails at once`() async throws {
        let stage = HeartStage()
        #expect(await code { () async throws(WebSocketError) in _ = try await stage.socket.ping() } == .unreachable)
        try #require(await stage.server.nextAttempt()).refuse(.down)
        await stage.socket.close()
        #expect(await code { () async throws(WebSocketError) in _ = try await stage.socket.ping() } == .closed)
    }

    @Test func `an adaptive interval grows with the answers up to its maximum, and is halved after a silent loss`() async throws {
        // Ping messages make the pings visible to the server; only the session sends them.
        let stage = HeartStage {
            ($0.timeouts.pingInterval, $0.timeouts.ping) = (nil, .seconds(1000))
            $0.pingMessage = PingMessage {
                .text("ping?")
            } isAnswer: {
                $0 == .text("pong!")
            }
        } options: {
            $0.heartbeat = .adaptive(base: .seconds(20), minimum: .seconds(10), maximum: .seconds(120), stretch: .zero)
        }
        let first = try await stage.accept()
        var (intervals, last): ([Duration], Duration) = ([], .zero)
        while true {
            await stage.lapse(upTo: .seconds(120))  // Runs until the wait for an answer.
            #expect(try await first.message() == .text("ping?"))
            intervals.append(stage.clock.now.offset - last)
            last = stage.clock.now.offset
            if intervals.last == .seconds(120) { break }
            try await first.send(.text("pong!"))
        }
        #expect(intervals == intervals.sorted() && intervals.first == .seconds(20) && Set(intervals).isSubset(of: Self.steps))

        first.stall()
        var reader = stage.eventReader()
        stage.clock.advance(by: .seconds(1000))
        #expect(await reader.next() == .opened)
        #expect(await reader.next() == .reconnecting(attempt: 1, delay: .seconds(1), .unresponsive))
        stage.clock.advance(by: .seconds(1))
        let second = try await stage.accept()
        await stage.pause(of: .seconds(60))
        #expect(try await second.message() == .text("ping?"))
    }
    private static let steps: Set<Duration> = [20_000, 30_000, 45_000, 67_500, 101_250, 120_000].reduce(into: []) {
        $0.insert(.milliseconds($1))
    }

    @Test func `a connection lost while a ping had no answer was idle`() async throws {
        let clock = ManualClock()
        let (client, server) = MemoryTransport.pair(clock: clock)
        server.setPingInterval(nil)
        client.stall()
        while await clock.nextSleep() != .seconds(20) {}
        clock.advance(by: .seconds(20))
        while await clock.nextSleep() != .seconds(10) {}  // The ping was sent and may take this long.
        client.cut()
        #expect(await client.ended().wasIdle == true)
        #expect(await server.ended().wasIdle == false)
    }
}

extension SocketTests {
    /// The heartbeat of a socket over TCP.
    @Suite struct HeartbeatSocketTests {
        /// How a server ends a connection after the first ping.
        enum Ending: CaseIterable { case inSilence, afterBytes }

        @Test(arguments: Ending.allCases)
        func `a connection lost while a ping had no answer was idle`(ending: Ending) async throws {
            let configuration = WebSocketConfiguration.with { ($0.timeouts.pingInterval, $0.timeouts.ping) = (nil, .seconds(30)) }
            try await withScriptedServer { peer in
                try await peer.acceptUpgrade()
                #expect(try await peer.readFrame().opcode == .ping)
                if ending == .afterBytes { try await peer.send(.text("alive"), to: .client) }
            } client: { url in
                let transport = try await WebSocketConnection.connect(to: url, configuration: configuration).transport
                transport.probe()
                let end = await transport.ended()
                #expect(end.failureCode == .lost && end.wasIdle == (ending == .inSilence))
            }
        }

        @Test func `a half-open link is detected and replaced`() async throws {
            try await WebSocketServer.echo().withRunning { server in
                let link = try await FaultyLink.start(to: server.port)
                let socket = WebSocket("ws://127.0.0.1:\(link.port)/") {
                    ($0.connection.timeouts.pingInterval, $0.connection.timeouts.ping) = (.milliseconds(100), .milliseconds(300))
                    $0.reconnect = Stage.policy
                }
                var reader = EventReader(events: socket.events.makeAsyncIterator())
                #expect(await reader.next() == .opened)
                link.stall()
                #expect(await reader.next() == .reconnecting(attempt: 2, delay: .seconds(1), .unresponsive))
                link.resume()
                var event = await reader.next()
                while let next = event, next != .opened { event = await reader.next() }
                #expect(event == .opened)
                await socket.close()
            }
        }

        @Test func `an adaptive heartbeat detects a half-open link even if the configuration disables pings`() async throws {
            try await WebSocketServer.echo { $0.timeouts.pingInterval = nil }.withRunning { server in
                let link = try await FaultyLink.start(to: server.port)
                let socket = WebSocket("ws://127.0.0.1:\(link.port)/") {
                    ($0.connection.timeouts.pingInterval, $0.connection.timeouts.ping) = (nil, .milliseconds(300))
                    $0.heartbeat = .adaptive(base: .seconds(1), minimum: .seconds(1), maximum: .seconds(1))
                }
                var reader = EventReader(events: socket.events.makeAsyncIterator())
                #expect(await reader.next() == .opened)
                link.stall()
                guard case .reconnecting(_, _, .unresponsive) = await reader.next() else { return #expect(Bool(false), "not found") }
                await socket.close()
            }
        }
    }
}

extension Result<CloseRecord, TransportError> {
    /// Whether the connection was lost in silence; nil if it was closed.
    fileprivate var wasIdle: Bool? { if case .failure(let error) = self { error.wasIdle } else { nil } }
}
