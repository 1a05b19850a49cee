import Holdfast
import HoldfastServer
import MachineCore
import ScriptedPeers
import Testing

extension SocketTests {
    /// Settings at the limits of their ranges, and ends at unusual times.
    @Suite struct EdgesTests {
        @Test func `a server that closes during TLS is a lost connection that may be retried, not a trust error`() async throws {
            try await withScriptedServer { peer in
                _ = try await peer.read(1)
            } client: { url in
                let secure = "wss" + url.dropFirst(2)
                let error = await #expect(throws: WebSocketError.self) { try await WebSocketConnection.connect(to: secure) }
                #expect(error?.code == .lost)
                #expect(error?.isRetryable == true)
            }
        }

        @Test(arguments: [0, 1, Int.max])
        func `buffers of any size work`(size: Int) async throws {
            let server = WebSocketServer.echo { ($0.limits.receiveBuffer, $0.limits.sendBuffer) = (size, size) }
            let configuration = WebSocketConfiguration.with { ($0.limits.receiveBuffer, $0.limits.sendBuffer) = (size, size) }
            try await server.withRunning { server in
                try await WebSocketConnection.withConnection(to: server.url(), configuration: configuration) { connection in
                    for number in 1...20 {
                        try await connection.send(.text("\(number)"))
                        try await connection.expect(.text("\(number)"))
                    }
                }
            }
        }

        @Test func `a message of exactly the allowed size passes though compression makes it larger`() async throws {
            var random = SplitMix64(seed: 1)
            let message = Message.binary((0..<WebSocketLimits().message).map { _ in UInt8.random(in: .min ... .max, using: &random) })
            try await WebSocketServer.echo().withRunning { server in
                try await WebSocketConnection.withConnection(to: server.url()) { connection in
                    #expect(connection.compression != nil)
                    try await connection.send(message)
                    try await connection.expect(message)
                }
            }
        }

        @Test func `messages before the peer's close are delivered to a slow app`() async throws {
            let count = 100
            try await withScriptedServer { peer in
                _ = try await peer.acceptUpgrade()
                for number in 1...count { try await peer.send(.text("\(number)"), to: .client) }
                try await peer.send(.close(.normal), to: .client)
                _ = await peer.readToEnd()
            } client: { url in
                let configuration = WebSocketConfiguration.with { $0.limits.receiveBuffer = 1 }
                let connection = try await WebSocketConnection.connect(to: url, configuration: configuration)
                for number in 1...count { try await connection.expect(.text("\(number)")) }
                try await connection.expect(nil)
            }
        }
    }
}
