import Holdfast
import HoldfastServer
import WAMPCore
import WebSocketCore

/// Decides about requests for a WebSocket: the path, the serialization.
enum Doorkeeper {
    static func decide(_ request: UpgradeRequest) -> UpgradeDecision {
        guard ["/", "/ws"].contains(request.path) else { return .refuse(status: 404, "The router is at /ws.\n") }
        guard let name = request.subprotocols.first(where: { WAMPSerialization(subprotocol: $0) != nil }) else {
            let names = WAMPSerialization.allCases.map(\.subprotocol).joined(separator: "\n")
            return .refuse(status: 400, "Offer one of these subprotocols:\n\(names)\n")
        }
        return .accept(subprotocol: name)
    }
}
