import Holdfast
import HoldfastServer
import ScriptedPeers
import Testing

extension SocketTests {
    /// Few bytes that become many: what a handler does not take must not be held without bound.
    @Suite struct AmplificationTests {
        /// 1 MiB in 1 KB, and a short message behind it, again and again: each read brings hundreds of them.
        private static func flood() -> [UInt8] {
            let (deflater, zeros) = (Deflater(parameters: DeflateParameters(), role: .client), [UInt8](repeating: 0, count: 1 << 20))
            return (0..<500).flatMap { number -> [UInt8] in
                var bomb: [UInt8] = []
                zeros.withUnsafeBytes { deflater.deflate($0, isLast: true, into: &bomb) }
                return WireFrame(.binary, bomb, isCompressed: true).bytes(to: .server) + WireFrame.text("\(number)").bytes(to: .server)
            }
        }

        /// A server that looks at nothing until the peer has sent more than it may hold.
        private static func run(_ delivery: Delivery) async throws {
            let (goes, go) = AsyncStream.makeStream(of: Void.self)
            let configuration = WebSocketServerConfiguration.with { ($0.delivery, $0.timeouts.pingInterval) = (delivery, nil) }
            let server = WebSocketServer(configuration: configuration) { connection, _ in
                // In vain, but it says that what has come so far was looked at.
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

        @Test func `bombs with short messages between them are held back, whole`() async {
            // In a process of its own, for its memory is measured.
            await #expect(processExitsWith: .success) { try await Self.run(.messages) }
        }

        @Test func `bombs with short messages between them are held back, in chunks`() async {
            await #expect(processExitsWith: .success) { try await Self.run(.chunks) }
        }
    }
}
