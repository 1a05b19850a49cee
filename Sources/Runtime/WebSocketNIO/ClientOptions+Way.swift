import WebSocketCore

extension ClientOptions {
    /// What the socket itself is connected to.
    enum Destination {
        case host(String, Int)
        case socket(path: String)
    }

    var destination: Destination {
        if let path = url.socketPath { return .socket(path: path) }
        return proxy.map { .host($0.host, $0.port) } ?? .host(url.host, url.port)
    }

    /// Whether the bytes of the socket are those of the WebSocket, with no TLS around them.
    var isPlain: Bool { !url.isSecure && proxy?.kind != .https }
}
