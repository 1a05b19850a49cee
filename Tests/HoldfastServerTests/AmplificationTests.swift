import Holdfast
import HoldfastServer
import ScriptedPeers
import Testing

extension SocketTests {
    /// Small compressed messages that become large: the server must limit what it holds for a handler.
    @Suite struct AmplificationTests {
        /// Repeats 1 MiB compressed to 1 KB and a short message, so that each read brings hundreds of them.
        private static func flood() -> [UInt8] {
            let (deflater, zeros) = (Deflater(parameters: DeflateParameters(), role: .client), [UInt8](repeating: 0, count: 1 << 20))
            return (0..<500).flatMap { number -> [UInt8] in
                var bomb: [UInt8] = []
                zeros.withUnsafeBytes { deflater.deflate($0, isLast: true, into: &bomb) }
                return WireFrame(.binary, bomb, isCompressed: true).bytes(to: .server) + WireFrame.text("\(number)").bytes(to: .server)
            }
        }

        /// A server that reads no message until the peer has sent more than the server may hold.
        private static func run(_ delivery: Delivery) async throws {
            let (goes, go) = AsyncStream.makeStream(of: Void.self)
            let configuration = WebSocketServerConfiguration.with { ($0.delivery, $0.timeouts.pingInterval) = (delivery, nil) }
            let server = WebSocketServer(configuration: configuration) { connection, _ in
                // The ping gets no answer, but its timeout shows that the server has handled the bytes so far.
                _ = try? await connection.ping(timeout: .milliseconds(300))
                go.yield()
                for try await _ in connection.messages {}
            }
            let bytes = flood()
            try await server.withRunning { server in
                let peer = try await ScriptedPeer.open(server, headers: ["Sec-WebSocket-Extensions": "permessage-deflate"])
                let start = residentMemory() ?? 0
                let sending = Task { try await peer.send(bytes) }
                for await _ in goes { break }
                guard (residentMemory() ?? 0) - start < 64 << 20 else { throw ScriptedPeer.Ended() }
                await peer.close()
                _ = await sending.result
            }
        }

        @Test func `compressed bombs between short messages are held back when messages are delivered whole`() async {
            // The test measures memory and needs a process of its own.
            await #expect(processExitsWith: .success) { try await Self.run(.messages) }
        }

        @Test func `compressed bombs between short messages are held back when messages are delivered in chunks`() async {
            await #expect(processExitsWith: .success) { try await Self.run(.chunks) }
        }
    }
}
