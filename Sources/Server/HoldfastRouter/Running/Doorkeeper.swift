import Holdfast
import HoldfastServer
import WAMPCore
import WebSocketCore

/// Decides about requests for a WebSocket: the path, the origin, the serialization.
struct Doorkeeper: Sendable {
    private let origins: Set<String>
    /// Whether the router listens on this machine only, and so only names of this machine are its own.
    private let isLocal: Bool

    init(_ configuration: WAMPRouterConfiguration) {
        origins = Set(configuration.origins.map { $0.lowercased() })
        isLocal = configuration.server.unixSocket != nil || Self.isLoopback(configuration.server.host)
    }

    func decide(_ request: UpgradeRequest) -> UpgradeDecision {
        guard ["/", "/ws"].contains(request.path) else { return .refuse(status: 404, "The router is at /ws.\n") }
        guard takes(origin: request.headers["Origin"], host: request.headers["Host"]) else {
            return .refuse(status: 403, "Pages of this origin may not connect.\n")
        }
        guard let name = request.subprotocols.first(where: { WAMPSerialization(subprotocol: $0) != nil }) else {
            let names = WAMPSerialization.allCases.map(\.subprotocol).joined(separator: "\n")
            return .refuse(status: 400, "Offer one of these subprotocols:\n\(names)\n")
        }
        return .accept(subprotocol: name)
    }

    /// Whether a page of this origin may connect; who says none is no page.
    func takes(origin: String?, host: String?) -> Bool {
        guard let origin = origin?.lowercased() else { return true }
        if origins.contains("*") || origins.contains(origin) { return true }
        guard let host = host.map(Self.name), let page = origin.firstRange(of: "://").map({ Self.name(String(origin[$0.upperBound...])) })
        else { return false }
        // A page can make a name of its own lead here: on this machine only its own names count. Its port does not matter, for pages
        // that are being developed are served by another server.
        return page == host && (!isLocal || Self.isLoopback(host))
    }

    /// A host without its port.
    private static func name(_ authority: String) -> String {
        let authority = authority.lowercased()
        if authority.hasPrefix("[") { return String(authority.dropFirst().prefix { $0 != "]" }) }
        return String(authority.prefix { $0 != ":" })
    }

    private static func isLoopback(_ host: String) -> Bool {
        if host == "localhost" || host == "::1" { return true }
        let numbers = host.split(separator: ".", omittingEmptySubsequences: false)
        return numbers.count == 4 && numbers[0] == "127" && numbers.allSatisfy { UInt8($0) != nil }
    }
}
