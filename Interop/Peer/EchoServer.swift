import Foundation
import Holdfast
import HoldfastServer

/// Echoes every message.
///
/// A connection to `/close/CODE/REASON` is closed at once.
struct EchoServer {
    var configuration = WebSocketServerConfiguration()

    init(certificate: String?, key: String?) {
        // Test pages have no origin.
        configuration.origins = .any
        if let certificate, let key { configuration.tls = ServerTLSOptions(certificateChainFile: certificate, privateKeyFile: key) }
        configuration.limits = .forPeers
        // Compress the smallest messages too, so that the suites test compression often.
        configuration.compression?.threshold = 0
    }

    func run() async throws {
        let server = WebSocketServer(configuration: configuration) { connection, request in
            let path = request.path.split(separator: "/")
            if path.count == 3, path[0] == "close", let code = UInt16(path[1]) {
                await connection.close(code: CloseCode(rawValue: code), reason: String(path[2]))
            } else {
                for try await message in connection.messages { try await connection.send(message) }
            }
        }
        try await server.run { running in
            print("listening \(running.port)")
            fflush(nil)
        }
    }
}

extension WebSocketLimits {
    /// The limits of Autobahn's 9.* cases: messages of 16 MiB, in up to 65 536 fragments.
    static var forPeers: WebSocketLimits {
        var limits = WebSocketLimits()
        limits.message = 32 << 20
        limits.fragments = 1 << 20
        return limits
    }
}
