import HoldfastServer
import NIOCore
import WebSocketCore

/// Where a client comes from, as its upgrade says.
struct Caller: Sendable {
    /// What limits per address count: see `SocketAddress.network(of:)`.
    let address: String
    /// Whether it is on this machine, and nobody has passed its request on.
    let isLocal: Bool
    /// A token that came with the upgrade, for those whose `hello` has none.
    let token: String?

    init(_ request: UpgradeRequest, by door: Door) {
        address = door.network(of: request) ?? ""
        isLocal = !door.isBehindProxy && Caller.isLoopback(door.host(of: request)) && !Caller.isForwarded(request.headers)
        token = Caller.bearer(request.headers["Authorization"]) ?? Caller.parameter("token", of: request.query)
    }

    static func isLoopback(_ host: String) -> Bool {
        let host = host.hasPrefix("::ffff:") ? String(host.dropFirst(7)) : host
        guard host != "::1", host != "localhost" else { return true }
        return (try? SocketAddress(ipAddress: host, port: 0)) != nil && host.hasPrefix("127.")
    }

    /// Whether a request was sent to a name of this machine.
    ///
    /// A page on the web can make a name of its own lead here, and is then of this hub's origin: what is for this machine only asks for more.
    static func isLoopbackName(_ authority: String?) -> Bool {
        authority.map { OriginPolicy.isLoopback(host: $0) } ?? true
    }

    /// Whether a proxy says that the request is not its own.
    static func isForwarded(_ headers: HeaderFields) -> Bool {
        ["Forwarded", "X-Forwarded-For", "X-Real-IP", "Via"].contains { headers[$0] != nil }
    }

    /// What follows `Bearer `.
    static func bearer(_ field: String?) -> String? {
        guard let field, field.count > 7, field.prefix(7).lowercased() == "bearer " else { return nil }
        return String(field.dropFirst(7).drop { $0 == " " })
    }

    /// The value of a parameter of the query, without its percent signs.
    static func parameter(_ name: String, of query: String?) -> String? {
        let pairs = (query ?? "").split(separator: "&").map { $0.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false) }
        guard let pair = pairs.first(where: { $0.count == 2 && $0[0] == name }) else { return nil }
        return PercentEncoding.decode(pair[1].replacing("+", with: " "))
    }
}
