import Holdfast
import HoldfastServer
import ScriptedPeers
import Testing

extension SocketTests {
    /// Messages that are too large for memory.
    @Suite struct StreamingTests {
        static let size = 64 << 20
        static let pieceSize = 64 << 10

        @Test func `64 MiB pass both ways and are never held as a whole`() async {
            // The test measures memory and needs a process of its own.
            await #expect(processExitsWith: .success) { try await Self.pass(compression: nil) }
        }

        @Test func `64 MiB pass both ways compressed and are never held as a whole`() async {
            await #expect(processExitsWith: .success) { try await Self.pass(compression: CompressionOptions()) }
        }

        struct Mistake: Error {
            let text: String
        }

        /// Streams a message to a server that streams it back.
        private static func pass(compression: CompressionOptions?) async throws {
            let configuration = WebSocketServerConfiguration.with {
                ($0.delivery, $0.limits.message, $0.limits.frame, $0.compression) = (.chunks, size, size, compression)
            }
            let server = WebSocketServer(configuration: configuration) { connection, _ in
                try await connection.send(.binary, pieces: OneMessage(connection.chunks))
            }
            try await server.withRunning { server in
                var configuration = WebSocketConfiguration()
                (configuration.delivery, configuration.limits.message, configuration.compression) = (.chunks, size, compression)
                try await WebSocketConnection.withConnection(to: server.url(), configuration: configuration) { connection in
                    guard (connection.compression != nil) == (compression != nil) else { throw Mistake(text: "compression") }
                    let start = residentMemory()
                    async let sending: Void = connection.send(.binary, pieces: Numbers(count: size / pieceSize))
                    var (received, most) = (0, 0)
                    for try await chunk in connection.chunks {
                        for byte in chunk.bytes.first.map({ [$0] }) ?? [] where byte != Numbers.byte(at: received) {
                            throw Mistake(text: "a wrong byte at \(received)")
                        }
                        received += chunk.bytes.count
                        most = max(most, residentMemory() ?? 0)
                        if chunk.isLast { break }
                    }
                    try await sending
                    guard received == size else { throw Mistake(text: "\(received) bytes") }
                    if let start, most - start > size / 2 { throw Mistake(text: "\(most - start) bytes held") }
                }
            }
        }
    }
}

/// Pieces of a message in which each byte depends on its position.
private struct Numbers: AsyncSequence, AsyncIteratorProtocol {
    let count: Int
    private var next = 0

    init(count: Int) { self.count = count }

    static func byte(at index: Int) -> UInt8 { UInt8(truncatingIfNeeded: index / 4096) }

    func makeAsyncIterator() -> Numbers { self }

    mutating func next() async -> [UInt8]? {
        guard next < count else { return nil }
        defer { next += 1 }
        let start = next * SocketTests.StreamingTests.pieceSize
        return (0..<SocketTests.StreamingTests.pieceSize / 4096).flatMap {
            [UInt8](repeating: Self.byte(at: start + $0 * 4096), count: 4096)
        }
    }
}

/// The pieces of the next message.
private struct OneMessage: AsyncSequence, AsyncIteratorProtocol {
    private var chunks: WebSocketChunks.AsyncIterator?

    init(_ chunks: WebSocketChunks) { self.chunks = chunks.makeAsyncIterator() }

    func makeAsyncIterator() -> OneMessage { self }

    mutating func next() async throws -> [UInt8]? {
        guard let chunk = try await chunks?.next() else { return nil }
        if chunk.isLast { chunks = nil }
        return chunk.bytes
    }
}
