import Metrics
import Holdfast
import MetricsTestKit
import ScriptedPeers
import Testing
import WebSocketNIO

@testable import HoldfastServer

extension SocketTests {
    /// The metrics of a server.
    @Suite struct SightMetricsTests {
        private let metrics = TestMetrics()

        private func count(_ name: String, _ dimensions: [(String, String)] = []) -> Int64 {
            metrics.counterTotal(label: "holdfast_server_" + name, dimensions: dimensions)
        }

        private var open: Double? { metrics.meters(label: "holdfast_server_connections_open").first?.lastValue }

        /// Waits for a condition that another thread fulfils; the limit only applies to a failure.
        private func eventually(_ isSo: () -> Bool) async -> Bool {
            let end = ContinuousClock.now + .seconds(40)
            while ContinuousClock.now < end, !isSo() { await Task.yield() }
            return isSo()
        }

        @Test func `connections, handshakes, traffic and close codes are counted`() async throws {
            try await WebSocketServer.echo { $0.metrics = metrics }.withRunning { server in
                let peer = try await ScriptedPeer.open(server)
                let client = try await WebSocketConnection.connect(to: server.url())
                for _ in 1...3 {
                    try await client.send(.text("hello"))
                    _ = try await client.messages.first { _ in true }
                }
                #expect(count("connections") == 2 && open == 2)
                let handshakes = try metrics.expectTimer("holdfast_server_handshake_duration").values
                #expect(handshakes.count == 2 && handshakes.allSatisfy { 0 < $0 && $0 < 40_000_000_000 })
                await client.close()
                #expect(await eventually { count("closes", [("code", "1000")]) == 1 })
                #expect(count("messages_in") == 3 && count("messages_out") == 3 && count("payload_bytes_in") == 15)
                #expect(open == 1)
                await peer.close()
                #expect(await eventually { count("closes", [("code", "1006")]) == 1 })
                #expect(open == 0)
            }
        }

        @Test func `the traffic of an open connection is reported as differences, and the rest at its end`() async throws {
            let meters = try #require(ServerMeters(metrics))
            let server = WebSocketServer { connection, _ in
                if let channel = connection.transport as? WebSocketChannel { meters.opened(channel) }
                for try await message in connection.messages { try await connection.send(message) }
            }
            try await server.withRunning { server in
                let client = try await WebSocketConnection.connect(to: server.url())
                func echo() async throws {
                    try await client.send(.text("hello"))
                    _ = try await client.messages.first { _ in true }
                }
                for _ in 1...2 { try await echo() }
                #expect(count("messages_in") == 0)
                meters.notifyTraffic()
                #expect(count("messages_in") == 2 && count("messages_out") == 2)
                try await echo()
                for _ in 1...2 { meters.notifyTraffic() }
                #expect(count("messages_in") == 3 && count("payload_bytes_out") == 15)
                try await echo()
                await client.close()
                #expect(await eventually { count("closes") == 1 })
                #expect(count("messages_in") == 4)
                meters.notifyTraffic()
                #expect(count("messages_in") == 4)
            }
        }

        @Test func `without a backend there are no meters`() { #expect(ServerMeters(NOOPMetricsHandler.instance) == nil) }

        @Test func `private close codes share two series`() async throws {
            try await WebSocketServer.echo { $0.metrics = metrics }.withRunning { server in
                for code in [3001, 3002, 4000, 4001, 4999] as [UInt16] {
                    let client = try await WebSocketConnection.connect(to: server.url())
                    await client.close(code: CloseCode(rawValue: code))
                }
                #expect(await eventually { count("closes") == 5 })
            }
            #expect(count("closes", [("code", "3xxx")]) == 2 && count("closes", [("code", "4xxx")]) == 3)
            #expect(metrics.counters(label: "holdfast_server_closes").count == 2)
        }

        @Test func `refusals are counted by reason, without plain requests`() async throws {
            let server = WebSocketServer(configuration: .with { $0.metrics = metrics }) { request in
                request.path == "/club" ? .refuse(status: 403) : .accept
            } handler: { connection, _ in
                for try await _ in connection.messages {}
            }
            try await server.withRunning { server in
                let request = String(decoding: try ScriptedPeer.upgradeRequest("/club"), as: UTF8.self)
                #expect(try await ScriptedPeer.ask(server, request).head.status == 403)
                let broken = request.replacing("Sec-WebSocket-Version: 13", with: "Sec-WebSocket-Version: 12")
                #expect(try await ScriptedPeer.ask(server, broken).head.status == 426)
                #expect(try await ScriptedPeer.ask(server, "GET / HTTP/1.1\r\nHost: x\r\n\r\n").head.status == 404)
            }
            func refused(_ reason: String) -> Int64 { count("connections_refused", [("reason", reason)]) }
            #expect((refused("declined"), refused("invalid"), refused("timeout"), refused("full")) == (1, 1, 0, 0))
            #expect(count("connections") == 0)
        }

        @Test func `a connection beyond the limit and a slow handshake count as refusals`() async throws {
            let options = WebSocketServerConfiguration.with {
                ($0.metrics, $0.maximumConnections, $0.timeouts.handshake) = (metrics, 1, .milliseconds(500))
            }
            try await WebSocketServer(configuration: options) { connection, _ in
                for try await _ in connection.messages {}
            }.withRunning { server in
                let slow = try await ScriptedPeer.connect(to: server.port)
                _ = await slow.readToEnd()
                #expect(await eventually { count("connections_refused", [("reason", "timeout")]) == 1 })
                #expect(await eventually { server.connectionCount == 0 })
                let first = try await ScriptedPeer.open(server)
                let request = String(decoding: try ScriptedPeer.upgradeRequest(), as: UTF8.self)
                #expect(try await ScriptedPeer.ask(server, request).head.status == 503)
                #expect(await eventually { count("connections_refused", [("reason", "full")]) == 1 })
                await first.close()
            }
        }
    }
}
