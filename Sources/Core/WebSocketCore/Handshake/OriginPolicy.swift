/// Decides which web pages may open a WebSocket, from the `Origin` and `Host` fields that browsers send.
///
/// A page may come from the server's own host or from an allowed origin. A malicious page can let a name of its own point to any address
/// ("DNS rebinding") and then appears to come from the server's own origin. Therefore a `Host` counts only if it is an IP address, a name
/// of this machine, or the host of an allowed origin. A request without `Origin` does not come from a page and is allowed.
public struct OriginPolicy: Hashable, Sendable {
    /// The origins that may connect in addition to the server's own, such as `https://example.org`.
    ///
    /// `*` is every origin, and `null` a page without one. The host of each origin also counts as a name of the server.
    public var allowed: [String]
    /// Whether a page of the server's own host must also match its port and scheme; otherwise the host alone must match.
    public var isStrict: Bool

    /// Creates a policy; by default only pages of the server's own host may connect.
    public init(allowed: [String] = [], isStrict: Bool = false) { (self.allowed, self.isStrict) = (allowed, isStrict) }

    /// Allows every page.
    public static let any = OriginPolicy(allowed: ["*"])

    /// The first of ``allowed`` that cannot be an origin, because it has a path or no scheme; nil if all are valid.
    public var firstInvalid: String? { allowed.first { $0 != "*" && $0 != "null" && Site(origin: $0) == nil } }

    /// Returns why a request is refused, as a sentence; nil if it is allowed.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - isSecure: Whether it came over TLS. Behind a proxy that terminates TLS, the page is secure although this connection is not.
    public func refusal(of request: RequestHead, isSecure: Bool) -> String? {
        let headers = request.headers
        guard let origin = headers["Origin"] else { return nil }
        guard headers.values("Origin").count == 1, headers.values("Host").count <= 1 else {
            return "There must be one Origin and one Host."
        }
        if allowed.contains(where: { $0 == "*" || HeaderSyntax.isEqual($0, origin) }) { return nil }
        let refused = "Pages from \(quoted(origin)) may not connect here."
        guard let page = Site(origin: origin), let host = headers["Host"], let own = Site(authority: host) else { return refused }
        guard isOwn(own.name) else {
            return "\(quoted(host)) is not a known name of this server. If it is one, allow the origin \(quoted(origin))."
        }
        guard page.name == own.name else { return refused }
        guard isStrict else { return nil }
        return own.port(of: page.scheme) == page.port(of: page.scheme) && (page.scheme == "https" || page.scheme == "http" && !isSecure)
            ? nil : refused
    }

    /// Returns whether a name, in lower case and without brackets, belongs to the server and cannot be redirected by others.
    private func isOwn(_ name: String) -> Bool {
        IPAddress(name) != nil || Self.isLocal(name) || allowed.contains { Site(origin: $0)?.name == name }
    }

    /// Returns whether `Host` names this machine, such as `localhost:80`, `127.0.0.1` or `[::1]`; false for nil.
    public static func isLoopback(host authority: String?) -> Bool {
        guard let name = authority.flatMap({ Site(authority: $0)?.name }) else { return false }
        guard let address = IPAddress(name) else { return isLocal(name) }
        return address.bytes.count == 4 ? address.bytes[0] == 127 : address == IPAddress("::1")
    }

    /// Browsers resolve these names without DNS (RFC 6761 §6.3).
    private static func isLocal(_ name: String) -> Bool { name == "localhost" || name.hasSuffix(".localhost") }

    /// A scheme, a host and a port, in lower case.
    private struct Site {
        let scheme: String
        let name: String
        let port: String

        /// Reads `scheme://host` with an optional port; fails for anything else.
        init?(origin: String) {
            guard let end = origin.firstRange(of: "://"), let site = Site(authority: origin[end.upperBound...]) else { return nil }
            scheme = HeaderSyntax.lowercased(origin[..<end.lowerBound])
            guard HeaderSyntax.isToken(scheme) else { return nil }
            (name, port) = (site.name, site.port)
        }

        /// Reads `host` or `host:port`, with IPv6 in brackets.
        init?(authority: some StringProtocol) {
            let text = HeaderSyntax.lowercased(authority)
            guard HeaderSyntax.isVisible(text), !text.utf8.contains(where: Self.isForeign) else { return nil }
            scheme = ""
            let end =
                text.hasPrefix("[") ? text.firstIndex(of: "]").map { text.index(after: $0) } : text.firstIndex(of: ":") ?? text.endIndex
            guard let end else { return nil }
            let rest = text[end...]
            guard rest.isEmpty || rest.hasPrefix(":") && (rest.count == 1 || HeaderSyntax.isDecimal(rest.dropFirst())) else { return nil }
            port = String(rest.dropFirst())
            let host = text[..<end]
            name = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : String(host)
            guard !name.isEmpty, !host.hasPrefix("[") || IPAddress(name)?.bytes.count == 16 else { return nil }
        }

        /// Returns the port, or the default port of the scheme.
        func port(of scheme: String) -> String { port.isEmpty ? scheme == "https" ? "443" : "80" : port }

        private static func isForeign(_ byte: UInt8) -> Bool {
            [UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "@"), UInt8(ascii: "\\")].contains(byte)
        }
    }
}
