import Holdfast
import HoldfastServer
import Testing

extension TransportKind {
    typealias Accepted = AsyncStream<any MessageTransport>

    func withServer(
        _ configuration: WebSocketConfiguration, _ body: (_ port: Int, WebSocketConfiguration, Accepted) async throws -> Void
    ) async throws {
        var configuration = configuration
        configuration.compression = self == .compressedTCP ? CompressionOptions() : nil
        configuration.httpVersion = self == .http2 ? .http2 : .http1
        let (accepted, accept) = Accepted.makeStream()
        var options = WebSocketServerConfiguration()
        options.httpVersion = configuration.httpVersion
        (options.limits, options.timeouts) = (configuration.limits, configuration.timeouts)
        (options.compression, options.delivery) = (configuration.compression, configuration.delivery)
        options.slowConsumers = .disconnect(after: configuration.timeouts.stall)
        let server = WebSocketServer(configuration: options) { connection, _ in
            accept.yield(connection.transport)
            _ = await connection.transport.ended()
        }
        try await server.withRunning { try await body($0.port, configuration, accepted) }
    }

    static func connect(
        to port: Int, _ configuration: WebSocketConfiguration, _ accepted: Accepted,
        _ body: (any MessageTransport, any MessageTransport) async throws -> Void
    ) async throws {
        let client = try await WebSocketConnection.connect(to: "ws://127.0.0.1:\(port)/", configuration: configuration).transport
        defer { client.abort() }
        var peers = accepted.makeAsyncIterator()
        let peer = try #require(await peers.next())
        defer { peer.abort() }
        try await body(client, peer)
    }
}
