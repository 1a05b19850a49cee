import Holdfast
import HoldfastServer
import HoldfastTesting
import ScriptedPeers
import Testing

/// Whether the present connection of a socket lives, and how often it is asked.
@Suite(.timeLimit(.minutes(1))) struct SessionHeartbeatTests {
    @Test func `a ping goes out on the present connection`() async throws {
        let stage = HeartStage()
        var story = stage.story()
        let first = try await stage.accept()
        #expect(await story.next() == .opened)
        #expect(try await stage.socket.ping() == .zero)
        first.cut()
        await stage.pause(of: .seconds(1))
        let second = try await stage.accept()
        #expect(await story.next() == .reconnecting(attempt: 2, delay: .seconds(1), .lost))
        #expect(await story.next() == .opened)
        #expect(try await stage.socket.ping(timeout: .seconds(5)) == .zero)
        #expect(second.closeRecord == nil)
    }

    @Test func `a ping waits for no connection`() async throws {
        let stage = HeartStage()
        #expect(await code { () async throws(WebSocketError) in _ = try await stage.socket.ping() } == .unreachable)
        try #require(await stage.server.nextAttempt()).refuse(.down)
        await stage.socket.close()
        #expect(await code { () async throws(WebSocketError) in _ = try await stage.socket.ping() } == .closed)
    }

    @Test func `an adaptive interval grows with the answers up to its maximum, and is halved by a death in silence`() async throws {
        // The questions are messages, so that the server sees when they come; only the session says when.
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
        var (gaps, last): ([Duration], Duration) = ([], .zero)
        while true {
            await stage.lapse(upTo: .seconds(120))  // To the wait for an answer.
            #expect(try await first.message() == .text("ping?"))
            gaps.append(stage.clock.now.offset - last)
            last = stage.clock.now.offset
            if gaps.last == .seconds(120) { break }
            try await first.send(.text("pong!"))
        }
        #expect(gaps == gaps.sorted() && gaps.first == .seconds(20) && Set(gaps).isSubset(of: Self.steps))

        first.stall()
        var story = stage.story()
        stage.clock.advance(by: .seconds(1000))
        #expect(await story.next() == .opened)
        #expect(await story.next() == .reconnecting(attempt: 1, delay: .seconds(1), .unresponsive))
        stage.clock.advance(by: .seconds(1))
        let second = try await stage.accept()
        await stage.pause(of: .seconds(60))
        #expect(try await second.message() == .text("ping?"))
    }
    private static let steps: Set<Duration> = [20_000, 30_000, 45_000, 67_500, 101_250, 120_000].reduce(into: []) {
        $0.insert(.milliseconds($1))
    }

    @Test func `a link that broke while a ping met silence was idle`() async throws {
        let clock = ManualClock()
        let (client, server) = MemoryTransport.pair(clock: clock)
        server.setPingInterval(nil)
        client.stall()
        while await clock.nextSleep() != .seconds(20) {}
        clock.advance(by: .seconds(20))
        while await clock.nextSleep() != .seconds(10) {}  // The ping is out, and may take so long.
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
        func `a link that broke while a ping met silence was idle`(ending: Ending) async throws {
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

        @Test func `a half-open link is found and replaced`() async throws {
            try await WebSocketServer.echo().withRunning { server in
                let link = try await FaultyLink.start(to: server.port)
                let socket = WebSocket("ws://127.0.0.1:\(link.port)/") {
                    ($0.connection.timeouts.pingInterval, $0.connection.timeouts.ping) = (.milliseconds(100), .milliseconds(300))
                    $0.reconnect = Stage.policy
                }
                var story = Story(events: socket.events.makeAsyncIterator())
                #expect(await story.next() == .opened)
                link.stall()
                #expect(await story.next() == .reconnecting(attempt: 2, delay: .seconds(1), .unresponsive))
                link.resume()
                var chapter = await story.next()
                while let next = chapter, next != .opened { chapter = await story.next() }
                #expect(chapter == .opened)
                await socket.close()
            }
        }

        @Test func `an adaptive heartbeat finds a half-open link, whatever the configuration says`() async throws {
            try await WebSocketServer.echo { $0.timeouts.pingInterval = nil }.withRunning { server in
                let link = try await FaultyLink.start(to: server.port)
                let socket = WebSocket("ws://127.0.0.1:\(link.port)/") {
                    ($0.connection.timeouts.pingInterval, $0.connection.timeouts.ping) = (nil, .milliseconds(300))
                    $0.heartbeat = .adaptive(base: .seconds(1), minimum: .seconds(1), maximum: .seconds(1))
                }
                var story = Story(events: socket.events.makeAsyncIterator())
                #expect(await story.next() == .opened)
                link.stall()
                guard case .reconnecting(_, _, .unresponsive) = await story.next() else { return #expect(Bool(false), "not found") }
                await socket.close()
            }
        }
    }
}

extension Result<CloseRecord, TransportError> {
    /// Whether the link broke in silence; nil if it was closed.
    fileprivate var wasIdle: Bool? { if case .failure(let error) = self { error.wasIdle } else { nil } }
}
