/// The URL of a WebSocket: `ws://host:port/path?query` or `wss://…` (RFC 6455 §3).
///
/// Nothing is percent-encoded or decoded: what may not stand in a URL is refused.
///
/// `ws+unix:/run/app.sock:/path?query` is a Unix domain socket, as in Node's `ws`: after the colon comes what would follow the host;
/// without it, the target is `/`. In the socket's path alone `%XX` is decoded, so that it may have colons and spaces.
public struct WebSocketURL: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// Whether the scheme is `wss`.
    public let isSecure: Bool
    /// A name or an address in lower case; IPv6 without brackets.
    public let host: String
    /// As written, or 80 for `ws` and 443 for `wss`.
    public let port: Int
    /// The path and the query, at least `/`: what stands in the request line.
    public let target: String
    /// Where the Unix domain socket is, whose `host` is then `localhost`; nil: the server is reached by TCP.
    public let socketPath: String?

    /// Reads a URL, or says what is wrong with it.
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

    /// The value of the `Host` field: IPv6 in brackets, the port left out if it is the scheme's own.
    public var hostHeader: String {
        let bracketed = host.contains(":") ? "[\(host)]" : host
        return port == (isSecure ? 443 : 80) ? bracketed : "\(bracketed):\(port)"
    }

    /// The whole URL; its query may hold credentials.
    public var string: String { origin + target }

    /// The URL for logs: without the query, which may hold credentials.
    public var description: String {
        let path = target.prefix { $0 != "?" }
        return origin + path + (path.endIndex == target.endIndex ? "" : "?…")
    }

    /// The description alone: a dump shows no query either.
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

    /// Reads `:8080`; RFC 3986 §3.2.3 lets the number, or all of it, be absent.
    private static func port(_ text: Substring, default defaultPort: Int) throws(URLProblem) -> Int {
        let digits = text.dropFirst()
        if digits.isEmpty, text.isEmpty || text == ":" { return defaultPort }
        guard text.hasPrefix(":"), HeaderSyntax.isDecimal(digits), let port = Int(digits), 1...65535 ~= port else {
            // What is no number may be a password whose @ is missing.
            let what = HeaderSyntax.isDecimal(digits) ? quoted(digits) : "what follows the host"
            throw URLProblem(.invalidPort, "\(what) is not a port; use a number in 1...65535")
        }
        return port
    }
}

extension URLProblem {
    fileprivate static let missingScheme = URLProblem(.missingScheme, "the URL has no scheme; begin it with ws:// or wss://")
}
