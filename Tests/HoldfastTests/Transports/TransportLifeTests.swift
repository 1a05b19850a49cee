import Holdfast
import HoldfastServer
import HoldfastTesting
import Testing

@Suite(.timeLimit(.minutes(1))) struct TransportLifeTests {
    @Test func `in memory: releasing the last reference to an end drops the link`() async {
        var client: MemoryTransport?
        let server: MemoryTransport
        (client, server) = MemoryTransport.pair()
        weak let trace = client
        client = nil
        #expect(trace == nil)
        guard case .failure(let error) = await server.ended() else {
            Issue.record("the link was not dropped")
            return
        }
        #expect(error.code == .lost)
    }

    @Test func `over TCP: releasing the last reference to an end drops the link`() async throws {
        let (ends, end) = AsyncStream.makeStream(of: Result<CloseRecord, TransportError>.self)
        let server = WebSocketServer { connection, _ in
            _ = end.yield(await connection.transport.ended())
        }
        try await server.withRunning { running in
            var connection: WebSocketConnection? = try await WebSocketConnection.connect(to: running.url())
            #expect(connection?.closeRecord == nil)
            connection = nil
            var results = ends.makeAsyncIterator()
            guard case .failure(let error)? = await results.next() else { throw CancellationError() }
            #expect(error.code == .lost)
        }
    }
}
