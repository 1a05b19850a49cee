/// A WebSocket URL: `ws://host:port/path?query` or `wss://…` (RFC 6455 §3).
///
/// Nothing is percent-encoded or decoded: characters that are not allowed in a URL are rejected.
///
/// `ws+unix:/run/app.sock:/path?query` is a Unix domain socket, as in Node's `ws`. The request target follows the second colon; without it,
/// the target is `/`. `%XX` is decoded only in the socket's path, so that it can contain colons and spaces.
public struct WebSocketURL: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// Whether the scheme is `wss`.
    public let isSecure: Bool
    /// The host name or address in lower case; IPv6 without brackets.
    public let host: String
    /// The port as written, or 80 for `ws` and 443 for `wss`.
    public let port: Int
    /// The path and the query for the request line, at least `/`.
    public let target: String
    /// The path of the Unix domain socket, whose `host` is then `localhost`; nil for TCP.
    public let socketPath: String?

    /// Parses a URL, or throws what is wrong with it.
    public init(_ string: String) throws(URLProblem) {
        guard HeaderSyntax.isVisible(string) else {
            if string.isEmpty { throw .missingScheme }
            throw URLProblem(.invalidCharacter, "a URL has no spaces and only ASCII; percent-encode other characters")
        }
        if let (isSecure, place) = Self.unixPlace(of: string) {
            (self.isSecure, host, port) = (isSecure, "localhost", isSecure ? 443 : 80)
            (socketPath, target) = try Self.socketAndTarget(place)
            return
        }
        socketPath = nil
        guard let separator = string.firstRange(of: "://") else { throw .missingScheme }
        let scheme = HeaderSyntax.lowercased(string[..<separator.lowerBound])
        guard !scheme.isEmpty, scheme.allSatisfy({ $0.isLetter || $0.isNumber || "+-.".contains($0) }) else { throw .missingScheme }
        guard scheme == "ws" || scheme == "wss" else {
            throw URLProblem(.unsupportedScheme, "\(scheme): is not a WebSocket scheme; use ws: or wss:")
        }
        isSecure = scheme == "wss"
        let rest = string[separator.upperBound...]
        guard !rest.contains("#") else {
            throw URLProblem(.fragment, "a WebSocket URL has no fragment; leave out what follows #, or write %23 for a # in the path")
        }
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        let tail = rest[authority.endIndex...]
        target = tail.hasPrefix("/") ? String(tail) : "/" + tail
        (host, port) = try Self.hostAndPort(authority, defaultPort: isSecure ? 443 : 80)
    }

    /// The value of the `Host` field: IPv6 in brackets, without the scheme's default port.
    public var hostHeader: String {
        let bracketed = host.contains(":") ? "[\(host)]" : host
        return port == (isSecure ? 443 : 80) ? bracketed : "\(bracketed):\(port)"
    }

    /// The whole URL.
    ///
    /// Its query may contain credentials.
    public var string: String { origin + target }

    /// The URL for logs, without the query, which may contain credentials.
    public var description: String {
        let path = target.prefix { $0 != "?" }
        return origin + path + (path.endIndex == target.endIndex ? "" : "?…")
    }

    /// A mirror that shows only the description, without the query.
    public var customMirror: Mirror { Mirror(self, children: ["url": description]) }

    var origin: String {
        let scheme = isSecure ? "wss" : "ws"
        return socketPath.map { "\(scheme)+unix:\(PercentEncoding.encode(path: $0)):" } ?? "\(scheme)://\(hostHeader)"
    }

    static func hostAndPort(_ authority: Substring, defaultPort: Int) throws(URLProblem) -> (host: String, port: Int) {
        guard !authority.contains("@") else {
            throw URLProblem(.userInfo, "a WebSocket URL has no user name or password; send an Authorization header instead")
        }
        let host: Substring
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]") else { throw URLProblem(.invalidHost, "the [ before the host has no ]") }
            host = authority[authority.index(after: authority.startIndex)..<end]
            guard host.filter({ $0 == ":" }).count >= 2, host.allSatisfy({ $0.isHexDigit || $0 == ":" || $0 == "." }) else {
                throw URLProblem(.invalidHost, "[\(host)] is not an IPv6 address")
            }
            let port = authority[authority.index(after: end)...]
            return (HeaderSyntax.lowercased(host), try self.port(port, default: defaultPort))
        }
        host = authority.prefix { $0 != ":" }
        guard !host.isEmpty else { throw URLProblem(.missingHost, "the URL has no host; write it as in wss://example.com/path") }
        guard host.allSatisfy({ $0.isLetter || $0.isNumber || "-._".contains($0) }) else {
            throw URLProblem(.invalidHost, "\(quoted(host)) is not a host name; use letters, digits, `-` and `.`, or an address")
        }
        return (HeaderSyntax.lowercased(host), try port(authority[host.endIndex...], default: defaultPort))
    }

    /// Reads `:8080`.
    ///
    /// RFC 3986 §3.2.3 allows the number, or all of it, to be absent.
    private static func port(_ text: Substring, default defaultPort: Int) throws(URLProblem) -> Int {
        let digits = text.dropFirst()
        if digits.isEmpty, text.isEmpty || text == ":" { return defaultPort }
        guard text.hasPrefix(":"), HeaderSyntax.isDecimal(digits), let port = Int(digits), 1...65535 ~= port else {
            // If it is not a number, it may be a password with a missing @.
            let what = HeaderSyntax.isDecimal(digits) ? quoted(digits) : "what follows the host"
            throw URLProblem(.invalidPort, "\(what) is not a port; use a number in 1...65535")
        }
        return port
    }

    /// Resolves a `Location` against this URL (RFC 3986 §5.2).
    ///
    /// `http` and `https` stand for `ws` and `wss`.
    ///
    /// A fragment is dropped, because it is only for the client.
    func resolve(_ location: String) throws(URLProblem) -> WebSocketURL {
        let reference = location.prefix { $0 != "#" }
        let scheme = reference.prefix { $0 != ":" && $0 != "/" && $0 != "?" }
        if scheme.endIndex < reference.endIndex, reference[scheme.endIndex] == ":" {
            let rest = reference[scheme.endIndex...]
            switch HeaderSyntax.lowercased(scheme) {
            case "http", "ws": return try WebSocketURL("ws\(rest)")
            case "https", "wss": return try WebSocketURL("wss\(rest)")
            // A server must not choose a Unix domain socket of this machine.
            default: throw URLProblem(.unsupportedScheme, "\(quoted(scheme)) is not a scheme that redirects may use")
            }
        }
        if reference.hasPrefix("//") { return try WebSocketURL("\(isSecure ? "wss" : "ws"):\(reference)") }
        return try WebSocketURL(origin + Self.merge(reference, into: target))
    }

    private static func merge(_ reference: Substring, into target: String) -> String {
        let base = target.prefix { $0 != "?" }
        if reference.isEmpty { return target }
        if reference.hasPrefix("?") { return String(base + reference) }
        let path = reference.prefix { $0 != "?" }
        let directory = base[...(base.lastIndex(of: "/") ?? base.startIndex)]
        return withoutDots(path.hasPrefix("/") ? path : directory + path) + reference[path.endIndex...]
    }

    /// RFC 3986 §5.2.4.
    private static func withoutDots(_ path: Substring) -> String {
        let segments = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        var kept: [Substring] = []
        for (index, segment) in segments.enumerated() {
            let isLast = index == segments.count - 1
            switch segment {
            case "..":
                _ = kept.popLast()
                if isLast { kept.append("") }
            case ".": if isLast { kept.append("") }
            default: kept.append(segment)
            }
        }
        return "/" + kept.joined(separator: "/")
    }

    /// Returns whether TLS is used, and the part after the scheme; nil if the scheme is not that of Unix domain sockets.
    static func unixPlace(of string: String) -> (isSecure: Bool, place: Substring)? {
        guard let colon = string.firstIndex(of: ":") else { return nil }
        let place = string[string.index(after: colon)...]
        switch HeaderSyntax.lowercased(string[..<colon]) {
        case "ws+unix": return (false, place)
        case "wss+unix": return (true, place)
        default: return nil
        }
    }

    /// Reads `/run/app.sock:/path?query`, optionally with the `//` of an empty host before it.
    static func socketAndTarget(_ place: Substring) throws(URLProblem) -> (path: String, target: String) {
        guard !place.contains("#") else {
            throw URLProblem(.fragment, "a WebSocket URL has no fragment; write %23 for a # in the path")
        }
        let place = place.hasPrefix("///") ? place.dropFirst(2) : place
        // A query may follow directly. A ? in the path is written %3F.
        let encoded = place.prefix { $0 != ":" && $0 != "?" }
        guard encoded.hasPrefix("/"), !encoded.hasPrefix("//"), let path = PercentEncoding.decode(encoded) else {
            throw URLProblem(.invalidHost, "after ws+unix: comes the absolute path of a socket, as in ws+unix:/run/app.sock:/path")
        }
        // The limit of all systems: 104 bytes on Apple's, 108 on Linux, including a final 0.
        guard path.utf8.count < 104 else { throw URLProblem(.invalidHost, "the path of a Unix domain socket has at most 103 bytes") }
        let rest = place[encoded.endIndex...]
        let tail = rest.hasPrefix(":") ? rest.dropFirst() : rest
        return (path, tail.hasPrefix("/") ? String(tail) : "/" + tail)
    }

    /// Creates the URL of a Unix domain socket.
    ///
    /// - Parameters:
    ///   - path: The absolute path of the socket, at most 103 bytes.
    ///   - target: The path and the query of the request.
    public init(unixSocket path: String, target: String = "/", isSecure: Bool = false) throws(URLProblem) {
        try self.init("\(isSecure ? "wss" : "ws")+unix:\(PercentEncoding.encode(path: path)):\(target)")
    }
}

/// Why a string is not a WebSocket URL.
public struct URLProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of problem, for code.
    public let code: Code
    /// The problem and the expected form, for people, without credentials.
    public let description: String

    init(_ code: Code, _ description: String) { (self.code, self.description) = (code, description) }

    /// The kinds of problem; more may be added.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The kind in words.
        public let description: String

        private init(_ description: String) { self.description = description }

        /// A space, a control character, or a character outside ASCII.
        public static let invalidCharacter = Code("invalid character")
        /// There is no `ws://` or `wss://`.
        public static let missingScheme = Code("missing scheme")
        /// The scheme is not `ws` or `wss`.
        public static let unsupportedScheme = Code("unsupported scheme")
        /// There is a user name or a password before the host.
        public static let userInfo = Code("user info")
        /// There is no host.
        public static let missingHost = Code("missing host")
        /// The host is neither a name nor an address.
        public static let invalidHost = Code("invalid host")
        /// The port is not a number in `1...65535`.
        public static let invalidPort = Code("invalid port")
        /// There is a `#`.
        public static let fragment = Code("fragment")
    }

    fileprivate static let missingScheme = URLProblem(.missingScheme, "the URL has no scheme; begin it with ws:// or wss://")
}
