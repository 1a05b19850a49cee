/// A cookie, and where it goes (RFC 6265).
///
/// It describes itself without the value, also in a dump; as `Codable`, which is for the app to store it, it has the value.
public struct Cookie: Hashable, Sendable, Codable, CustomStringConvertible, CustomReflectable {
    /// The name.
    public let name: String
    /// The value, as it stands in the request.
    public let value: String
    /// The host that it goes to, in lower case; the path of a Unix domain socket if the server listens on one.
    public let host: String
    /// Whether it also goes to the hosts whose names end in a dot and ``host``.
    public let includesSubdomains: Bool
    /// The path at and below which it goes along.
    public let path: String
    /// Whether it goes over `wss` only.
    public let isSecure: Bool
    /// Whether it is for HTTP, as handshakes are, and should not be shown to scripts; nothing here depends on it.
    public let isHTTPOnly: Bool
    /// When it ends, in seconds since 1970; nil: with the session, which is as long as the app keeps it.
    public let expires: Int64?

    /// A cookie from elsewhere, such as the app's login or its store.
    ///
    /// - Returns: Nil for a name, a value, a host or a path that no `Cookie` or `Set-Cookie` field could hold.
    public init?(
        name: String, value: String, host: String, includesSubdomains: Bool = false, path: String = "/", isSecure: Bool = true,
        isHTTPOnly: Bool = false, expires: Int64? = nil
    ) {
        guard !name.isEmpty, !name.utf8.contains(UInt8(ascii: "=")), path.utf8.first == UInt8(ascii: "/"), !host.isEmpty else { return nil }
        for text in [name, value, host, path] {
            guard HeaderSyntax.isFieldValue(text), !text.utf8.contains(UInt8(ascii: ";")),
                HeaderSyntax.trimmed(text).utf8.count == text.utf8.count
            else { return nil }
        }
        (self.name, self.value, self.path, self.expires) = (name, value, path, expires)
        self.host = host.utf8.first == UInt8(ascii: "/") ? host : HeaderSyntax.lowercased(host)
        (self.includesSubdomains, self.isSecure, self.isHTTPOnly) = (includesSubdomains, isSecure, isHTTPOnly)
    }

    private enum CodingKeys: String, CodingKey {
        case name, value, host, includesSubdomains, path, isSecure, isHTTPOnly, expires
    }

    /// Reads a cookie that was stored; throws if it is none that could be sent.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        let cookie = Cookie(
            name: try fields.decode(String.self, forKey: .name), value: try fields.decode(String.self, forKey: .value),
            host: try fields.decode(String.self, forKey: .host),
            includesSubdomains: try fields.decode(Bool.self, forKey: .includesSubdomains),
            path: try fields.decode(String.self, forKey: .path), isSecure: try fields.decode(Bool.self, forKey: .isSecure),
            isHTTPOnly: try fields.decode(Bool.self, forKey: .isHTTPOnly), expires: try fields.decodeIfPresent(Int64.self, forKey: .expires)
        )
        guard let cookie else {
            throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "this is no cookie"))
        }
        self = cookie
    }

    /// Name and place, without the value.
    public var description: String { "\(name) for \(includesSubdomains ? "*." : "")\(host)\(path)" }

    /// The description alone.
    public var customMirror: Mirror { Mirror(self, children: ["cookie": description]) }

    /// Whether it goes along with a request for this URL, unless it has expired.
    func goes(to url: WebSocketURL) -> Bool { (url.isSecure || !isSecure) && covers(host: url.cookieHost) && covers(path: url.cookiePath) }

    func hasExpired(at now: Int64) -> Bool { expires.map { $0 <= now } ?? false }

    /// RFC 6265 §5.1.3.
    func covers(host other: String) -> Bool {
        other == host || includesSubdomains && other.hasSuffix(".\(host)") && IPAddress(other) == nil
    }

    /// RFC 6265 §5.1.4.
    func covers(path other: some StringProtocol) -> Bool {
        guard other.utf8.starts(with: path.utf8) else { return false }
        return path.utf8.last == UInt8(ascii: "/") || [nil, UInt8(ascii: "/")].contains(other.utf8.dropFirst(path.utf8.count).first)
    }

    /// RFC 6265 §5.3: one that is the same in this takes the other's place.
    func takesPlace(of other: Cookie) -> Bool { name == other.name && host == other.host && path == other.path }

    /// What it costs in a request, in bytes.
    var size: Int { name.utf8.count + value.utf8.count }
}

extension WebSocketURL {
    /// Two sockets of this machine have nothing in common, and nothing with `localhost`.
    var cookieHost: String { socketPath ?? host }

    var cookiePath: Substring { target.prefix { $0 != "?" } }
}
