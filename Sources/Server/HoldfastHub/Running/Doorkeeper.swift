import Holdfast
import HoldfastServer
import RoomsWire

/// Decides about requests for a WebSocket: the path, the origin, the encoding.
struct Doorkeeper: Sendable {
    private let origins: Set<String>
    private let isSecure: Bool
    /// Whether only names of this machine are its own.
    private let isLocal: Bool

    init(origins: [String], isSecure: Bool, isLocal: Bool) {
        (self.origins, self.isSecure, self.isLocal) = (Set(origins.map { $0.lowercased() }), isSecure, isLocal)
    }

    /// Whether an origin can ever be that of a page: `scheme://host`, perhaps with a port.
    static func isOrigin(_ text: String) -> Bool {
        text == "*" || text == "null" || text.wholeMatch(of: /[a-z][a-z0-9+.\-]*:\/\/[^\/?#\s]+/.ignoresCase()) != nil
    }

    func decide(_ request: UpgradeRequest) -> UpgradeDecision {
        guard ["/", "/rooms"].contains(request.path) else { return .refuse(status: 404, "The rooms are at /rooms.\n") }
        guard takes(origin: request.headers["Origin"], host: request.headers["Host"]) else {
            return .refuse(status: 403, "Pages of this origin may not connect.\n")
        }
        guard !request.subprotocols.isEmpty else { return .accept }
        guard let name = request.subprotocols.first(where: { RoomsEncoding(subprotocol: $0) != nil }) else {
            let names = RoomsEncoding.allCases.map(\.subprotocol).joined(separator: "\n")
            return .refuse(status: 400, "Offer one of these subprotocols:\n\(names)\n")
        }
        return .accept(subprotocol: name)
    }

    /// Whether a page of this origin may connect; who says none is no page.
    func takes(origin: String?, host: String?) -> Bool {
        guard let origin = origin?.lowercased() else { return true }
        if origins.contains("*") || origins.contains(origin) { return true }
        guard let host = host?.lowercased(), !isLocal || Caller.isLoopbackName(host) else { return false }
        // Behind a proxy that ends TLS the page is secure and we are not.
        return origin == "https://\(host)" || (!isSecure && origin == "http://\(host)")
    }
}
