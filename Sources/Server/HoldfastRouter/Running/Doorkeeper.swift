import Holdfast
import HoldfastServer
import NIOCore
import WAMPCore
import WebSocketCore

/// Decides about requests for a WebSocket: the path, the serialization, and where they come from.
struct Doorkeeper: Sendable {
    /// Whether all clients come through a proxy.
    let isBehindProxy: Bool

    func decide(_ request: UpgradeRequest, hasRoom: (_ address: String?) -> Bool) -> UpgradeDecision {
        guard ["/", "/ws"].contains(request.path) else { return .refuse(status: 404, "The router is at /ws.\n") }
        guard let name = request.subprotocols.first(where: { WAMPSerialization(subprotocol: $0) != nil }) else {
            let names = WAMPSerialization.allCases.map(\.subprotocol).joined(separator: "\n")
            return .refuse(status: 400, "Offer one of these subprotocols:\n\(names)\n")
        }
        guard hasRoom(network(of: request)) else { return .refuse(status: 429, "There are too many connections of this address.\n") }
        return .accept(subprotocol: name)
    }

    /// Where a client comes from, as the meta API shows it; nil if that is not known.
    func peer(of request: UpgradeRequest) -> String? {
        (isBehindProxy ? PeerAddress.forwarded(request.headers) : nil) ?? request.remoteAddress
    }

    /// What limits per address count; nil for a client that has no address, such as one of a Unix domain socket.
    func network(of request: UpgradeRequest) -> String? {
        let forwarded = isBehindProxy ? PeerAddress.forwarded(request.headers) : nil
        let host = forwarded ?? PeerAddress.host(of: request.remoteAddress)
        return host.isEmpty ? nil : SocketAddress.network(of: host)
    }
}
