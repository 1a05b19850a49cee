import HoldfastServer
import HoldfastTesting
import NIOCore
import Testing

@testable import Holdfast
@testable import WebSocketNIO

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The network, the app's life and the heartbeat.
@Suite(.timeLimit(.minutes(1))) struct NetworkPainsTests {
    private static let home = NetworkPath(.wifi, interface: "en0")
    private static let away = NetworkPath(.cellular, interface: "pdp_ip0")

    @Test func `pain 15: a network that the system keeps shut is named, and worth another attempt`() throws {
        let url = try WebSocketURL("wss://example.com/feed")
        let error = WebSocketError(TransportError(connecting: IOError(errnoCode: ENETDOWN, reason: "connect"), to: url))
        #expect(error.code == .unreachable && error.isRetryable)
        #expect(error.description.contains("network is down"))
    }

    @Test(arguments: [AppLife.Input.background, .suspended])
    func `pain 17: after the background a fresh credential is awaited`(away: AppLife.Input) async throws {
        let tokens = HeartTokens()
        let stage = Stage {
            $0.credentials = .bearer { tokens.next() }
            $0.background = .close(after: .zero)
        }
        let first = try #require(await stage.server.nextAttempt())
        #expect(first.request.credential?.secret == "token-1")
        let peer = first.accept()
        await stage.state { if case .connected = $0 { true } else { false } }
        await stage.socket.notify(away)
        _ = await peer.ended()
        stage.clock.advance(by: .seconds(1))  // Attempts are a second apart, whatever happens.
        await stage.socket.notify(.foreground)
        #expect(try #require(await stage.server.nextAttempt()).request.credential?.secret == "token-2")
    }

    @Test func `pain 18: a connection that died in the background is found in the time of a pong`() async throws {
        let stage = HeartStage {
            $0.timeouts.pingInterval = nil
        } options: {
            $0.background = .keep
        }
        var story = stage.story()
        let peer = try await stage.accept()
        #expect(await story.next() == .opened)
        await stage.socket.notify(.background)
        peer.stall()
        await stage.socket.notify(.foreground)
        await stage.pause(of: .seconds(10))
        #expect(await story.next() == .reconnecting(attempt: 1, delay: .seconds(1), .unresponsive))
        #expect(stage.clock.now.offset == .seconds(10))
    }

    @Test func `pain 19: another network cuts a long backoff short, by itself`() async throws {
        let paths = HeartPaths()
        let stage = Stage { $0.pathSource = paths }
        paths.notify(.satisfied(Self.home))
        for _ in 1...5 {
            try await stage.refuse()
            await stage.pause()
        }
        try await stage.refuse()
        while await stage.clock.nextSleep() != .seconds(30) {}
        stage.clock.advance(by: .seconds(1))
        // What an interface that gives way to another is told as, see `InterfaceWatch`.
        for update: PathWatch.Input in [.unsatisfied, .satisfied(Self.away)] { paths.notify(update) }
        #expect(try #require(await stage.server.nextAttempt()).request.number == 1)
    }

    @Test func `pain 20: after the path is lost nobody is told "connected" for longer than a pong takes`() async throws {
        let stage = HeartStage()
        let peer = try await stage.accept()
        await stage.socket.waitUntilConnected()
        peer.stall()
        await stage.socket.notify(.unsatisfied)
        await stage.pause(of: .seconds(10))
        for await case .held in stage.socket.states { break }
        #expect(stage.clock.now.offset == .seconds(10), "the interval was not waited for")
    }

    @Test func `pain 21: the timers of a connection that is gone touch no other`() async throws {
        let stage = HeartStage()
        var story = stage.story()
        let first = try await stage.accept()
        #expect(await story.next() == .opened)
        stage.clock.advance(by: .seconds(15))
        first.cut()
        #expect(await story.next() == .reconnecting(attempt: 1, delay: .seconds(1), .lost))
        await stage.pause(of: .seconds(1))
        let second = try await stage.accept()
        #expect(await story.next() == .opened)
        second.stall()
        // The first one would have asked at 20 s, and been dead at 30 s.
        await stage.pause(of: .seconds(20))
        await stage.pause(of: .seconds(10))
        #expect(await story.next() == .reconnecting(attempt: 1, delay: .seconds(1), .unresponsive))
        #expect(stage.clock.now.offset == .seconds(46))
    }

    @Test func `pain 22: a half-open link is found within the interval and the deadline, which starts when the ping leaves`() async throws {
        let stage = HeartStage()
        var story = stage.story()
        let peer = try await stage.accept()
        #expect(await story.next() == .opened)
        peer.stall()
        await stage.pause(of: .seconds(20))
        await stage.pause(of: .seconds(10))
        #expect(await story.next() == .reconnecting(attempt: 1, delay: .seconds(1), .unresponsive))
        #expect(stage.clock.now.offset == .seconds(30))
    }
}

extension WebSocket {
    fileprivate func waitUntilConnected() async { for await case .connected in states { return } }
}

extension SocketTests {
    /// A socket whose app is busy.
    @Suite struct BusyConsumerPainsTests {
        @Test func `pain 22: an app that takes nothing for long is no dead peer, also where messages ask`() async throws {
            let count = 1000
            let message = Message.binary([UInt8](repeating: 7, count: 10_000))
            let generous = WebSocketServer { connection, _ in
                for _ in 1...count { try await connection.send(message) }
                for try await question in connection.messages where question == .text("ping?") { try await connection.send(.text("pong!")) }
            }
            try await generous.withRunning { server in
                let link = try await FaultyLink.start(to: server.port)
                let configure: @Sendable (inout WebSocketOptions) -> Void = {
                    ($0.connection.timeouts.pingInterval, $0.connection.timeouts.ping) = (.milliseconds(50), .seconds(2))
                    $0.connection.limits.receiveBuffer = 1024
                    $0.connection.pingMessage = PingMessage {
                        .text("ping?")
                    } isAnswer: {
                        $0 == .text("pong!")
                    }
                }
                let busy = WebSocket(server.url(), configure)
                await busy.waitUntilConnected()
                // Busy for as long as it takes to find two dead links.
                for _ in 1...2 {
                    let dead = WebSocket("ws://127.0.0.1:\(link.port)/") {
                        configure(&$0)
                        $0.connection.limits.receiveBuffer = 1 << 30
                        $0.reconnect.maximumAttempts = 0
                    }
                    await dead.waitUntilConnected()
                    link.stall()
                    for await case .closed(let error) in dead.states { #expect(error?.code == .unresponsive) }
                    link.resume()
                }
                var events = busy.events.makeAsyncIterator()
                guard case .opened = await events.nextButStates() else { return #expect(Bool(false), "not open") }
                for _ in 1...count {
                    guard case .message(message) = await events.nextButStates() else { return #expect(Bool(false), "a false death") }
                }
                await busy.close()
            }
        }
    }
}
