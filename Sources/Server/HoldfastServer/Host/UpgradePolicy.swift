import Holdfast
import NIOCore

/// Decides which requests a server with one endpoint accepts, by path, subprotocol and client address.
package struct UpgradePolicy: Sendable {
    /// The kind of server for messages to people, such as `hub`.
    private let server: String
    /// The path of the endpoint; `/` is accepted too.
    private let path: String
    /// The supported subprotocols.
    private let subprotocols: [String]
    /// Whether a client may offer none.
    private let takesNone: Bool
    /// Whether all clients come through a proxy.
    package let isBehindProxy: Bool

    package init(of server: String, at path: String, subprotocols: [String], takesNone: Bool = false, isBehindProxy: Bool) {
        (self.server, self.path, self.subprotocols) = (server, path, subprotocols)
        (self.takesNone, self.isBehindProxy) = (takesNone, isBehindProxy)
    }

    /// Returns the decision on a request.
    package func decide(
        _ request: UpgradeRequest, isStopping: Bool, hasRoom: (_ network: String?) -> Bool = { _ in true }
    ) -> UpgradeDecision {
        guard !isStopping else { return .refuse(status: 503, "the \(server) stops\n") }
        guard ["/", path].contains(request.path) else { return .refuse(status: 404, "The \(server) is at \(path).\n") }
        let subprotocol = request.subprotocols.first { subprotocols.contains($0) }
        guard subprotocol != nil || takesNone && request.subprotocols.isEmpty else {
            return .refuse(status: 400, "Offer one of these subprotocols:\n\(subprotocols.joined(separator: "\n"))\n")
        }
        guard hasRoom(network(of: request)) else { return .refuse(status: 429, "There are too many connections from this address.\n") }
        return .accept(subprotocol: subprotocol)
    }

    /// Returns the host of a client; empty if it has no address, as on a Unix domain socket.
    package func host(of request: UpgradeRequest) -> String {
        (isBehindProxy ? PeerAddress.forwarded(request.headers) : nil) ?? PeerAddress.host(of: request.remoteAddress)
    }

    /// Returns the key for limits per address; nil for a client without an address.
    package func network(of request: UpgradeRequest) -> String? {
        let host = host(of: request)
        return host.isEmpty ? nil : SocketAddress.network(of: host)
    }

    /// Returns the address of a client, with its port if there is no proxy between; nil if it is unknown.
    package func peer(of request: UpgradeRequest) -> String? {
        (isBehindProxy ? PeerAddress.forwarded(request.headers) : nil) ?? request.remoteAddress
    }
}
