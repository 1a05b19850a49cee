import Foundation
import Holdfast
import HoldfastServer

/// Echoes every message on every path; with `DEFLATE=1` in the environment, compressed.
struct EchoServer {
    private var configuration = WebSocketServerConfiguration()

    init(port: Int, handlers: HandlerPlacement) {
        configuration.port = port
        configuration.handlers = handlers
        configuration.limits.message = 64 << 20
        configuration.maximumConnections = 100_000
        if ProcessInfo.processInfo.environment["DEFLATE"] != nil {
            configuration.compression?.threshold = 0
        } else {
            configuration.compression = nil
        }
    }

    func run() async throws {
        let server = WebSocketServer(configuration: configuration) { connection, _ in
            for try await message in connection.messages { try await connection.send(message) }
        }
        try await server.run()
    }

    func runInline() async throws {
        try await WebSocketServer(configuration: configuration, inline: { _ in InlineEcho() }).run()
    }
}
