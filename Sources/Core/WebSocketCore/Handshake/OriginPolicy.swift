/// Which pages may ask a server for a WebSocket, by the `Origin` and the `Host` that their browser sends.
///
/// A page may come from where the server itself is, or from an origin that is allowed. A page on the web can make a name of its own lead
/// to any address ("DNS rebinding"), and is then of the server's origin by its words: so a `Host` counts only if it is an IP address, a
/// name of this machine, or the host of an origin that is allowed. A request without `Origin` comes from no page, and passes.
public struct OriginPolicy: Hashable, Sendable {
    /// The origins that may connect beside the server's own, such as `https://example.org`; `*` is every origin, `null` a page that has none.
    ///
    /// The host of each is a name of the server as well.
    public var allowed: [String]
    /// Whether a page of the server's own has to come from its port, over its scheme; otherwise its host alone has to match.
    public var isStrict: Bool

    /// Makes a policy; by default pages on the server's own host may connect, and no others.
    public init(allowed: [String] = [], isStrict: Bool = false) { (self.allowed, self.isStrict) = (allowed, isStrict) }

    /// Every page may connect.
    public static let any = OriginPolicy(allowed: ["*"])

    /// The first of ``allowed`` that can never be the origin of a page: it has a path, or no scheme.
    public var firstInvalid: String? { allowed.first { $0 != "*" && $0 != "null" && Site(origin: $0) == nil } }

    /// Why a request is refused, in a sentence; nil if it may go on.
    ///
    /// - Parameters:
    ///   - request: What the client asks for.
    ///   - isSecure: Whether it came over TLS. Behind a proxy that ends TLS the page is secure and we are not.
    public func refusal(of request: RequestHead, isSecure: Bool) -> String? {
        let headers = request.headers
        guard let origin = headers["Origin"] else { return nil }
        guard headers.values("Origin").count == 1, headers.values("Host").count <= 1 else {
            return "There must be one Origin and one Host."
        }
        if allowed.contains(where: { $0 == "*" || HeaderSyntax.isEqual($0, origin) }) { return nil }
        let refused = "Pages of \(quoted(origin)) may not connect here."
        guard let page = Site(origin: origin), let host = headers["Host"], let own = Site(authority: host) else { return refused }
        guard isOwn(own.name) else {
            return "This server does not know that it is called \(quoted(host)): allow the origin \(quoted(origin)) if it is."
        }
        guard page.name == own.name else { return refused }
        guard isStrict else { return nil }
        return own.port(of: page.scheme) == page.port(of: page.scheme) && (page.scheme == "https" || page.scheme == "http" && !isSecure)
            ? nil : refused
    }

    /// Whether a name, in lower case and without brackets, is one of the server's that nobody else can make lead here.
    private func isOwn(_ name: String) -> Bool {
        IPAddress(name) != nil || Self.isLocal(name) || allowed.contains { Site(origin: $0)?.name == name }
    }

    /// Whether a request was sent to a name of this machine, such as `localhost:80`, `127.0.0.1` or `[::1]`; nil, without a `Host`, is none.
    public static func isLoopback(host authority: String?) -> Bool {
        guard let name = authority.flatMap({ Site(authority: $0)?.name }) else { return false }
        guard let address = IPAddress(name) else { return isLocal(name) }
        return address.bytes.count == 4 ? address.bytes[0] == 127 : address == IPAddress("::1")
    }

    /// Browsers ask nobody about these (RFC 6761 §6.3).
    private static func isLocal(_ name: String) -> Bool { name == "localhost" || name.hasSuffix(".localhost") }

    /// A scheme, a host and a port, in lower case.
    private struct Site {
        let scheme: String
        let name: String
        let port: String

        /// Reads `scheme://host` with perhaps a port; nil if there is more, or less.
        init?(origin: String) {
            guard let end = origin.firstRange(of: "://"), let site = Site(authority: origin[end.upperBound...]) else { return nil }
            scheme = HeaderSyntax.lowercased(origin[..<end.lowerBound])
            guard HeaderSyntax.isToken(scheme) else { return nil }
            (name, port) = (site.name, site.port)
        }

        /// Reads `host` or `host:port`; IPv6 stands in brackets.
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

        /// The port, if need be the usual one of a scheme.
        func port(of scheme: String) -> String { port.isEmpty ? scheme == "https" ? "443" : "80" : port }

        private static func isForeign(_ byte: UInt8) -> Bool {
            [UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "@"), UInt8(ascii: "\\")].contains(byte)
        }
    }
}
