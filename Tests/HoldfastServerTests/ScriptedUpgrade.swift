import Holdfast
import HoldfastServer
import ScriptedPeers

extension WebSocketServer {
    /// Sends back every message.
    static func echo(_ configure: (inout WebSocketServerConfiguration) -> Void = { _ in }) -> WebSocketServer {
        WebSocketServer(configuration: .with(configure)) { connection, _ in
            for try await message in connection.messages { try await connection.send(message) }
        }
    }
}

extension WebSocketServerConfiguration {
    /// The default configuration with these changes.
    static func with(_ configure: (inout WebSocketServerConfiguration) -> Void) -> WebSocketServerConfiguration {
        var configuration = WebSocketServerConfiguration()
        configure(&configuration)
        return configuration
    }
}

extension ScriptedPeer {
    /// Connects to a server and opens a WebSocket with raw bytes.
    static func open(_ server: RunningServer, _ target: String = "/", headers: HeaderFields = [:]) async throws -> ScriptedPeer {
        let peer = try await connect(to: server.port)
        let response = try await peer.upgrade(target, headers: headers)
        guard response.status == 101 else { throw Ended() }
        return peer
    }

    /// Connects to a server, sends this, and reads until the server closes.
    static func ask(_ server: RunningServer, _ request: String) async throws -> (head: ResponseHead, body: String) {
        let peer = try await connect(to: server.port)
        try await peer.send(request)
        let head = try await peer.readResponse()
        return (head, String(decoding: await peer.readToEnd(), as: UTF8.self))
    }
}
