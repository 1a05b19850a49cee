import Holdfast
import HoldfastServer
import Testing

extension WebSocketServer {
    /// A server that sends back every message.
    static func echo(_ configure: (inout WebSocketServerConfiguration) -> Void = { _ in }) -> WebSocketServer {
        var configuration = WebSocketServerConfiguration()
        configure(&configuration)
        return WebSocketServer(configuration: configuration) { connection, _ in
            for try await message in connection.messages { try await connection.send(message) }
        }
    }
}
