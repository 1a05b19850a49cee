import Holdfast
import NIOCore

/// Decides who gets a WebSocket of a server with one endpoint: the path, the subprotocol, and where the client comes from.
package struct Door: Sendable {
    /// What the server is to people, such as `hub`.
    private let server: String
    /// Where the endpoint is; `/` leads there, too.
    private let path: String
    /// Those that are spoken.
    private let subprotocols: [String]
    /// Whether a client may offer none.
    private let takesNone: Bool
    /// Whether all clients come through a proxy.
    package let isBehindProxy: Bool

    package init(of server: String, at path: String, subprotocols: [String], takesNone: Bool = false, isBehindProxy: Bool) {
        (self.server, self.path, self.subprotocols) = (server, path, subprotocols)
        (self.takesNone, self.isBehindProxy) = (takesNone, isBehindProxy)
    }

    /// What becomes of a request.
    package func decide(
        _ request: UpgradeRequest, isStopping: Bool, hasRoom: (_ network: String?) -> Bool = { _ in true }
    ) -> UpgradeDecision {
        guard !isStopping else { return .refuse(status: 503, "the \(server) stops\n") }
        guard ["/", path].contains(request.path) else { return .refuse(status: 404, "The \(server) is at \(path).\n") }
        let subprotocol = request.subprotocols.first { subprotocols.contains($0) }
        guard subprotocol != nil || takesNone && request.subprotocols.isEmpty else {
            return .refuse(status: 400, "Offer one of these subprotocols:\n\(subprotocols.joined(separator: "\n"))\n")
        }
        guard hasRoom(network(of: request)) else { return .refuse(status: 429, "There are too many connections of this address.\n") }
        return .accept(subprotocol: subprotocol)
    }

    /// The host that a client comes from; empty for one that has no address, such as that of a Unix domain socket.
    package func host(of request: UpgradeRequest) -> String {
        (isBehindProxy ? PeerAddress.forwarded(request.headers) : nil) ?? PeerAddress.host(of: request.remoteAddress)
    }

    /// What limits per address count; nil for a client that has no address.
    package func network(of request: UpgradeRequest) -> String? {
        let host = host(of: request)
        return host.isEmpty ? nil : SocketAddress.network(of: host)
    }

    /// Where a client comes from, with its port if no proxy stands between; nil if that is not known.
    package func peer(of request: UpgradeRequest) -> String? {
        (isBehindProxy ? PeerAddress.forwarded(request.headers) : nil) ?? request.remoteAddress
    }
}
