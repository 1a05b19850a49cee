import NIOCore
package import WebSocketCore

/// Where a client comes from.
package enum PeerAddress {
    /// The host of `host:port`; a client of a Unix domain socket has none.
    package static func host(of address: String?) -> String {
        guard let address, let colon = address.lastIndex(of: ":") else { return "" }
        let host = address[..<colon]
        return host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : String(host)
    }

    /// Whom the nearest proxy speaks for: the last address of `X-Forwarded-For`, perhaps with a port; nil if there is none.
    package static func forwarded(_ headers: HeaderFields) -> String? {
        guard let last = headers.tokens("X-Forwarded-For").last else { return nil }
        let hosts = [last, host(of: last), last.hasPrefix("[") ? String(last.dropFirst().dropLast()) : last]
        return hosts.first { (try? SocketAddress(ipAddress: $0, port: 0)) != nil }
    }
}
