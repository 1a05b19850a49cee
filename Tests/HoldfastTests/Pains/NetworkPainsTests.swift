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

/// Network changes, the background and the heartbeat.
@Suite(.timeLimit(.minutes(1))) struct NetworkPainsTests {
    private static let home = NetworkPath(.wifi, interface: "en0")
    private static let away = NetworkPath(.cellular, interface: "pdp_ip0")

    @Test func `pain 15: a network that the system blocks is named in the error, and the attempt may be retried`() throws {
        let url = try WebSocketURL("wss://example.com/feed")
        let error = WebSocketError(TransportError(connecting: IOError(errnoCode: ENETDOWN, reason: "connect"), to: url))
        #expect(error.code == .unreachable && error.isRetryable)
        #expect(error.description.contains("network is down"))
    }

    @Test(arguments: [AppLife.Input.background, .suspended])
    func `pain 17: after the background the session waits for a fresh credential`(away: AppLife.Input) async throws {
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
        stage.clock.advance(by: .seconds(1))  // Attempts are at least a second apart.
        await stage.socket.notify(.foreground)
        #expect(try #require(await stage.server.nextAttempt()).request.credential?.secret == "token-2")
    }

    @Test func `pain 18: a connection that broke in the background is detected within the pong timeout`() async throws {
        let stage = HeartStage {
            $0.timeouts.pingInterval = nil
        } options: {
            $0.background = .keep
        }
        var reader = stage.eventReader()
        let peer = try await stage.accept()
        #expect(await reader.next() == .opened)
        await stage.socket.notify(.background)
        peer.stall()
        await stage.socket.notify(.foreground)
        await stage.pause(of: .seconds(10))
        #expect(await reader.next() == .reconnecting(attempt: 1, delay: .seconds(1), .unresponsive))
        #expect(stage.clock.now.offset == .seconds(10))
    }

    @Test func `pain 19: a change of network ends a long backoff`() async throws {
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
        // This is how a change of the interface is reported, see `InterfaceWatch`.
        for update: PathWatch.Input in [.unsatisfied, .satisfied(Self.away)] { paths.notify(update) }
        #expect(try #require(await stage.server.nextAttempt()).request.number == 1)
    }

    @Test func `pain 20: after the path is lost the state is not connected for longer than the pong timeout`() async throws {
        let stage = HeartStage()
        let peer = try await stage.accept()
        await stage.socket.waitUntilConnected()
        peer.stall()
        await stage.socket.notify(.unsatisfied)
        await stage.pause(of: .seconds(10))
        for await case .held in stage.socket.states { break }
        #expect(stage.clock.now.offset == .seconds(10), "the ping did not wait for the interval")
    }

    @Test func `pain 21: the timers of a lost connection do not affect the next one`() async throws {
        let stage = HeartStage()
        var reader = stage.eventReader()
        let first = try await stage.accept()
        #expect(await reader.next() == .opened)
        stage.clock.advance(by: .seconds(15))
        first.cut()
        #expect(await reader.next() == .reconnecting(attempt: 1, delay: .seconds(1), .lost))
        await stage.pause(of: .seconds(1))
        let second = try await stage.accept()
        #expect(await reader.next() == .opened)
        second.stall()
        // The first connection would have sent a ping at 20 s and timed out at 30 s.
        await stage.pause(of: .seconds(20))
        await stage.pause(of: .seconds(10))
        #expect(await reader.next() == .reconnecting(attempt: 1, delay: .seconds(1), .unresponsive))
        #expect(stage.clock.now.offset == .seconds(46))
    }

    @Test func `pain 22: a half-open link is detected within the ping interval and the pong timeout`() async throws {
        let stage = HeartStage()
        var reader = stage.eventReader()
        let peer = try await stage.accept()
        #expect(await reader.next() == .opened)
        peer.stall()
        await stage.pause(of: .seconds(20))
        await stage.pause(of: .seconds(10))
        #expect(await reader.next() == .reconnecting(attempt: 1, delay: .seconds(1), .unresponsive))
        #expect(stage.clock.now.offset == .seconds(30))
    }
}

extension WebSocket {
    fileprivate func waitUntilConnected() async { for await case .connected in states { return } }
}

extension SocketTests {
    /// A socket whose app does not read.
    @Suite struct BusyConsumerPainsTests {
        @Test func `pain 22: an app that reads nothing for long does not time out the peer, also with ping messages`() async throws {
            let count = 1000
            let message = Message.binary([UInt8](repeating: 7, count: 10_000))
            let flooding = WebSocketServer { connection, _ in
                for _ in 1...count { try await connection.send(message) }
                for try await question in connection.messages where question == .text("ping?") { try await connection.send(.text("pong!")) }
            }
            try await flooding.withRunning { server in
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
                // The app reads nothing while two dead links are detected.
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
                    guard case .message(message) = await events.nextButStates() else { return #expect(Bool(false), "it was lost") }
                }
                await busy.close()
            }
        }
    }
}
