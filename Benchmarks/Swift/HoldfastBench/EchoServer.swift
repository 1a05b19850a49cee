import Foundation
import Holdfast
import HoldfastServer

/// Echoes every message on every path.
///
/// In the environment, `DEFLATE=1` enables compression, and `TLS_CERT` and `TLS_KEY` (PEM files) enable TLS.
struct EchoServer {
    private var configuration = WebSocketServerConfiguration()

    init(port: Int, handlers: HandlerPlacement) {
        configuration.port = port
        configuration.handlers = handlers
        configuration.limits.message = 64 << 20
        configuration.maximumConnections = 100_000
        let environment = ProcessInfo.processInfo.environment
        if let certificate = environment["TLS_CERT"], let key = environment["TLS_KEY"] {
            configuration.tls = ServerTLSOptions(certificateChainFile: certificate, privateKeyFile: key)
        }
        if environment["DEFLATE"] != nil {
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
