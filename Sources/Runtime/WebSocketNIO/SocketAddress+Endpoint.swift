package import NIOCore

extension SocketAddress {
    /// The address and port as in a URL: `127.0.0.1:9001`, `[::1]:9001`; a path for a Unix socket.
    package var endpoint: String {
        guard let ip = ipAddress, let port else { return pathname ?? description }
        return ip.contains(":") ? "[\(ip)]:\(port)" : "\(ip):\(port)"
    }
}
