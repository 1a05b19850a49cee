import WebSocketRuntime
import NIOCore
import WebSocketCore

/// A server that listens.
public struct RunningServer: Sendable {
    /// The address it listens on; `localhost` for a Unix domain socket.
    public let host: String
    /// The port it listens on; 0 for a Unix domain socket.
    public let port: Int
    /// The Unix domain socket that it listens on; nil: it listens on a port.
    public let socketPath: String?
    /// Whether it speaks `wss`.
    public let isSecure: Bool
    let channels: ChannelRegistry

    /// How many clients are connected, handshakes included.
    public var connectionCount: Int { channels.count }

    /// The URL of a path on this server.
    public func url(_ path: String = "/") -> String {
        if let socketPath, let url = try? WebSocketURL(unixSocket: socketPath, target: path, isSecure: isSecure) { return url.string }
        return "\(isSecure ? "wss" : "ws")://\(host.contains(":") ? "[\(host)]" : host):\(port)\(path)"
    }
}
