import NIOConcurrencyHelpers
import NIOCore

/// A server that listens.
public struct RunningServer: Sendable {
    /// The address it listens on.
    public let host: String
    /// The port it listens on.
    public let port: Int
    /// Whether it speaks `wss`.
    public let isSecure: Bool
    let channels: ChannelRegistry

    /// How many clients are connected, handshakes included.
    public var connectionCount: Int { channels.count }

    /// The URL of a path on this server.
    public func url(_ path: String = "/") -> String {
        "\(isSecure ? "wss" : "ws")://\(host.contains(":") ? "[\(host)]" : host):\(port)\(path)"
    }
}
