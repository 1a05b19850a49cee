import Holdfast
import HoldfastServer
import RoomsWire

/// Decides about requests for a WebSocket: the path, the encoding.
enum Doorkeeper {
    static func decide(_ request: UpgradeRequest) -> UpgradeDecision {
        guard ["/", "/rooms"].contains(request.path) else { return .refuse(status: 404, "The rooms are at /rooms.\n") }
        guard !request.subprotocols.isEmpty else { return .accept }
        guard let name = request.subprotocols.first(where: { RoomsEncoding(subprotocol: $0) != nil }) else {
            let names = RoomsEncoding.allCases.map(\.subprotocol).joined(separator: "\n")
            return .refuse(status: 400, "Offer one of these subprotocols:\n\(names)\n")
        }
        return .accept(subprotocol: name)
    }
}
