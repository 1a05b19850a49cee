import MachineCore

/// A proxy that opens TCP connections: an HTTP proxy (`CONNECT`, RFC 9110 §9.3.6) or a SOCKS 5 server (RFC 1928).
///
/// The description and dumps omit the password.
public struct Proxy: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// The protocol of a proxy.
    public enum Kind: Hashable, Sendable {
        /// HTTP without encryption, including the password if there is one.
        case http
        /// HTTP over TLS. A `wss` connection has its own TLS inside.
        case https
        /// SOCKS 5. The proxy resolves host names.
        case socks5
    }

    /// A name and password for a proxy: `Proxy-Authorization: Basic` (RFC 7617), or the SOCKS 5 method (RFC 1929).
    public struct Login: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
        /// The name.
        public let user: String
        /// The password.
        public let password: String

        /// Creates a login with a name and password.
        public init(user: String, password: String) { (self.user, self.password) = (user, password) }

        /// A fixed text without the name and password.
        public var description: String { "a login" }

        /// An empty mirror.
        public var customMirror: Mirror { Mirror(self, children: []) }
    }

    /// The protocol.
    public let kind: Kind
    /// The host name or address; IPv6 without brackets.
    public let host: String
    /// The port.
    public let port: Int
    /// The login; nil if the proxy requires none.
    public let login: Login?

    /// Parses `http://user:password@host:port`, `https://…`, or `socks5://…`; without a scheme it is `http`.
    ///
    /// Name and password are percent-decoded. The default ports are 80, 443 and 1080. `socks5h` and `socks` are the same as `socks5`. The
    /// only path allowed is `/`.
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
            // If it contains a colon, the text before `://` may be part of a password.
            let what = scheme.contains(":") ? "this" : quoted(scheme)
            throw URLProblem(.unsupportedScheme, "\(what) is not a kind of proxy; use http:, https: or socks5:")
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
            // The original message may contain a password.
            throw URLProblem(.invalidPort, "the proxy's port is not a number in 1...65535; a name and a password end with an @")
        }
        try login?.check(for: kind)
    }

    /// Creates a proxy from its parts.
    ///
    /// - Throws: What is wrong with the host or the port, or a name or password that this kind of proxy does not support.
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

    /// A mirror that shows only the description.
    public var customMirror: Mirror { Mirror(self, children: ["url": description]) }

    private static func login(_ rest: inout Substring) throws(URLProblem) -> Login? {
        guard let at = rest.lastIndex(of: "@") else { return nil }
        let userInfo = rest[..<at]
        rest = rest[rest.index(after: at)...]
        let colon = userInfo.firstIndex(of: ":")
        guard let user = PercentEncoding.decode(userInfo[..<(colon ?? userInfo.endIndex)]),
            let password = PercentEncoding.decode(colon.map { userInfo[userInfo.index(after: $0)...] } ?? "")
        else {
            throw URLProblem(.userInfo, "the name or password of the proxy's URL is not percent-encoded correctly")
        }
        return Login(user: user, password: password)
    }
}

extension Proxy.Login {
    fileprivate func check(for kind: Proxy.Kind) throws(URLProblem) {
        if kind == .socks5 {
            // RFC 1929 §2: each length is one byte.
            guard 1...255 ~= user.utf8.count, 1...255 ~= password.utf8.count else {
                throw URLProblem(.userInfo, "for SOCKS 5 both the name and the password have 1 to 255 bytes")
            }
        } else if user.utf8.contains(where: { $0 == UInt8(ascii: ":") || $0 < 0x20 }) || password.utf8.contains(where: { $0 < 0x20 }) {
            // RFC 7617 §2.
            throw URLProblem(.userInfo, "the proxy's name has a colon, or name or password a control character")
        }
    }
}

/// Returns `host:port`, with IPv6 in brackets.
func authority(_ host: String, _ port: Int) -> String {
    host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)"
}

/// Why a proxy did not open the connection.
public struct ProxyFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure, for code.
    public let kind: Kind
    /// The details, for people, without the password.
    public let description: String
    /// The response of an HTTP proxy, if there is one.
    public let response: ResponseHead?

    init(_ kind: Kind, _ description: String, response: ResponseHead? = nil) {
        (self.kind, self.description, self.response) = (kind, description, response)
    }

    /// The kinds of failure; more may be added.
    public struct Kind: Hashable, Sendable, CustomStringConvertible {
        /// The kind in words.
        public let description: String

        private init(_ description: String) { self.description = description }

        /// The proxy requires a name and password, rejects the given ones, or requires an unsupported login method.
        public static let loginNeeded = Kind("login needed")
        /// The proxy does not allow connections to this server.
        public static let forbidden = Kind("forbidden")
        /// The proxy could not reach the server.
        ///
        /// This may be temporary.
        public static let serverUnreachable = Kind("server unreachable")
        /// The proxy violates its protocol.
        public static let malformed = Kind("malformed")
    }
}

/// `%XX` in URLs (RFC 3986 §2.1).
package enum PercentEncoding {
    /// Returns the decoded text; nil for a `%` without two digits, a NUL, or bytes that are not UTF-8.
    package static func decode(_ text: some StringProtocol) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let pair = Hexadecimal.bytes(rest.prefix(2)), !pair.isEmpty else { return nil }
            bytes += pair
            rest.removeFirst(2)
        }
        guard !bytes.contains(0) else { return nil }
        let text = String(decoding: bytes, as: UTF8.self)
        // Decoding replaces invalid UTF-8, which changes the bytes.
        return text.utf8.elementsEqual(bytes) ? text : nil
    }

    /// Encodes a path for a `ws+unix:` URL: forbidden characters, and the colon that ends the path, become `%XX`.
    static func encode(path: String) -> String {
        String(decoding: encode(path.utf8) { 0x21...0x7E ~= $0 && !#"%:?#"#.utf8.contains($0) }, as: UTF8.self)
    }

    /// Encodes all bytes as `%XX`, except those that need no encoding.
    static func encode(_ bytes: some Sequence<UInt8>, uppercase: Bool = true, except isPlain: (UInt8) -> Bool) -> [UInt8] {
        bytes.flatMap { isPlain($0) ? [$0] : [UInt8(ascii: "%")] + Hexadecimal.digits($0, uppercase: uppercase) }
    }

    /// Returns whether a byte needs no encoding anywhere in a URL (RFC 3986 §2.3).
    static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"):
            true
        default: false
        }
    }
}
