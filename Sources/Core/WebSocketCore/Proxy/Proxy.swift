/// Somebody who opens TCP connections on our behalf: an HTTP proxy (`CONNECT`, RFC 9110 §9.3.6) or a SOCKS 5 server (RFC 1928).
///
/// It describes itself without the password, also in a dump.
public struct Proxy: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// How to speak to a proxy.
    public enum Kind: Hashable, Sendable {
        /// HTTP, in the clear: the password, too, if there is one.
        case http
        /// HTTP within TLS; a `wss` connection has its own TLS within that.
        case https
        /// SOCKS 5; names are resolved by the proxy.
        case socks5
    }

    /// A name and a password for a proxy: `Proxy-Authorization: Basic` (RFC 7617), or SOCKS 5's own way (RFC 1929).
    public struct Login: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
        /// The name.
        public let user: String
        /// The password.
        public let password: String

        /// A name and a password.
        public init(user: String, password: String) { (self.user, self.password) = (user, password) }

        /// That there is one, and no more.
        public var description: String { "a login" }

        /// Nothing to be seen.
        public var customMirror: Mirror { Mirror(self, children: []) }
    }

    /// How to speak to it.
    public let kind: Kind
    /// A name or an address; IPv6 without brackets.
    public let host: String
    /// Its port.
    public let port: Int
    /// Who we are; nil: it need not know.
    public let login: Login?

    /// Reads `http://user:password@host:port`, `https://…`, or `socks5://…`; without a scheme it is `http`.
    ///
    /// Name and password are percent-decoded. Without a port it is 80, 443 or 1080. `socks5h` and `socks` are the same as `socks5`. A path
    /// is nothing but `/`.
    public init(_ string: String) throws(URLProblem) {
        guard HeaderSyntax.isVisible(string) else {
            throw URLProblem(.invalidCharacter, "a proxy's URL has no spaces and only ASCII; percent-encode other characters")
        }
        var rest = string[...]
        var scheme = "http"
        if let separator = rest.firstRange(of: "://") {
            scheme = HeaderSyntax.lowercased(rest[..<separator.lowerBound])
            rest = rest[separator.upperBound...]
        }
        let standardPort: Int
        switch scheme {
        case "http": (kind, standardPort) = (.http, 80)
        case "https": (kind, standardPort) = (.https, 443)
        case "socks5", "socks5h", "socks": (kind, standardPort) = (.socks5, 1080)
        default:
            // After a colon, what stands before the `://` may be part of a password.
            let what = scheme.contains(":") ? "this" : quoted(scheme)
            throw URLProblem(.unsupportedScheme, "\(what) is no kind of proxy; use http:, https: or socks5:")
        }
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        login = try Self.login(&rest)
        guard !rest.contains(where: { "/?#".contains($0) }) else {
            throw URLProblem(.invalidHost, "a proxy has no path: write it as in http://proxy.example.com:3128")
        }
        do throws(URLProblem) {
            (host, port) = try WebSocketURL.hostAndPort(rest, defaultPort: standardPort)
        } catch {
            guard error.code == .invalidPort else { throw error }
            // In its words stands what may be a password.
            throw URLProblem(.invalidPort, "the proxy's port is not a number in 1...65535; a name and a password end with an @")
        }
        try login?.check(for: kind)
    }

    /// A proxy in parts.
    ///
    /// - Throws: What is wrong with the host or the port, or a name or password that this kind of proxy cannot be told.
    public init(_ kind: Kind, host: String, port: Int, login: Login? = nil) throws(URLProblem) {
        let authority = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
        (self.host, self.port) = try WebSocketURL.hostAndPort("\(authority):\(port)", defaultPort: 0)
        (self.kind, self.login) = (kind, login)
        try login?.check(for: kind)
    }

    /// The proxy's URL, without name and password.
    public var description: String {
        let scheme =
            switch kind {
            case .http: "http"
            case .https: "https"
            case .socks5: "socks5"
            }
        return "\(scheme)://\(authority(host, port))"
    }

    /// The description alone.
    public var customMirror: Mirror { Mirror(self, children: ["url": description]) }

    private static func login(_ rest: inout Substring) throws(URLProblem) -> Login? {
        guard let at = rest.lastIndex(of: "@") else { return nil }
        let userInfo = rest[..<at]
        rest = rest[rest.index(after: at)...]
        let colon = userInfo.firstIndex(of: ":")
        guard let user = PercentEncoding.decode(userInfo[..<(colon ?? userInfo.endIndex)]),
            let password = PercentEncoding.decode(colon.map { userInfo[userInfo.index(after: $0)...] } ?? "")
        else {
            throw URLProblem(.userInfo, "the name or password of the proxy's URL is not percent-encoded as it should be")
        }
        return Login(user: user, password: password)
    }
}

extension Proxy.Login {
    fileprivate func check(for kind: Proxy.Kind) throws(URLProblem) {
        if kind == .socks5 {
            // RFC 1929 §2: one byte for the length of each.
            guard 1...255 ~= user.utf8.count, 1...255 ~= password.utf8.count else {
                throw URLProblem(.userInfo, "for SOCKS 5 both the name and the password have 1 to 255 bytes")
            }
        } else if user.utf8.contains(where: { $0 == UInt8(ascii: ":") || $0 < 0x20 }) || password.utf8.contains(where: { $0 < 0x20 }) {
            // RFC 7617 §2.
            throw URLProblem(.userInfo, "the proxy's name has a colon, or name or password a control character")
        }
    }
}

/// `host:port`, with IPv6 in brackets.
func authority(_ host: String, _ port: Int) -> String {
    host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)"
}
