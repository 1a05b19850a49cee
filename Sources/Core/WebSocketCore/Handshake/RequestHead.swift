/// The request line and the header fields of an HTTP/1 request (RFC 9112 §3), or what HTTP/2 has in their place.
public struct RequestHead: Hashable, MessageHead, CustomStringConvertible, CustomReflectable {
    /// Such as `GET`; case counts.
    public var method: String
    /// As on the wire: `/path?query`, `http://host/path`, or `*`.
    public var target: String
    /// The `x` in `HTTP/1.x`.
    public var minorVersion: Int
    /// The fields, in order.
    public var headers: HeaderFields
    /// 1, or 2 for a request that came over HTTP/2: its `:authority` is then the `Host`, and its `minorVersion` means nothing.
    public var majorVersion = 1
    /// The protocol that an extended CONNECT over HTTP/2 asks for, such as `websocket` (RFC 8441 §4); nil: the request is none.
    public var tunnelProtocol: String?

    /// Makes a head; nothing is checked until it is encoded.
    public init(method: String = "GET", target: String, minorVersion: Int = 1, headers: HeaderFields = [:]) {
        (self.method, self.target, self.minorVersion, self.headers) = (method, target, minorVersion, headers)
    }

    /// Reads `GET /path HTTP/1.1`.
    public init(startLine: String, headers: HeaderFields) throws(HandshakeFailure) {
        let line = Array(startLine.utf8)[...]
        guard let first = line.firstIndex(of: HeaderSyntax.space),
            let second = line[(first + 1)...].firstIndex(of: HeaderSyntax.space),
            !line[(second + 1)...].contains(HeaderSyntax.space),
            HeaderSyntax.isToken(line[..<first]), HeaderSyntax.isVisible(line[(first + 1)..<second])
        else {
            throw HandshakeFailure(.malformedHead, "the request line is not `method target HTTP/1.1`")
        }
        self.init(
            method: String(decoding: line[..<first], as: UTF8.self), target: String(decoding: line[(first + 1)..<second], as: UTF8.self),
            minorVersion: try Self.minorVersion(line[(second + 1)...]), headers: headers)
    }

    /// The path of the target, still percent-encoded; at least `/`, or `*`.
    public var path: String {
        let path = origin.prefix { $0 != "?" }
        return path.isEmpty ? "/" : String(path)
    }

    /// What follows the first `?` of the target, still percent-encoded; `nil` without a `?`.
    public var query: String? {
        origin.firstIndex(of: "?").map { String(origin[origin.index(after: $0)...]) }
    }

    /// The target from its path on; servers must take the absolute form too (RFC 9112 §3.2.2).
    private var origin: Substring {
        guard let authority else { return target[...] }
        return target[authority.endIndex...]
    }

    /// Host and perhaps port of a target in the absolute form; nil: it has another form.
    private var authority: Substring? {
        guard !target.hasPrefix("/"), let scheme = target.firstRange(of: "://") else { return nil }
        return target[scheme.upperBound...].prefix { $0 != "/" && $0 != "?" }
    }

    /// Refuses a target that names another server than `Host` does.
    ///
    /// The target would hold (RFC 9112 §3.2.2), but what protects servers from pages of others looks at `Host`.
    package func checkTarget() throws(HandshakeFailure) {
        guard let authority, !HeaderSyntax.isEqual(authority, headers["Host"] ?? "") else { return }
        throw HandshakeFailure(.malformedHead, "the target names \(quoted(String(authority))), which is not the Host")
    }

    /// The bytes to send, the blank line included.
    ///
    /// Throws ``HandshakeFailure/Kind/invalidHeader`` if a part would break out of its place.
    public func encoded() throws(HandshakeFailure) -> [UInt8] {
        guard HeaderSyntax.isToken(method), HeaderSyntax.isVisible(target), 0...9 ~= minorVersion else {
            throw HandshakeFailure(.invalidHeader, "the request line cannot be written: method or target has forbidden characters")
        }
        try headers.check()
        var bytes = Array("\(method) \(target) HTTP/1.\(minorVersion)\r\n".utf8)
        headers.write(to: &bytes)
        return bytes
    }

    /// The method and the path, for logs: the query and the fields may hold credentials.
    public var description: String { "\(method) \(path)\(query == nil ? "" : "?…")" }

    /// The first line and the fields, as they describe themselves.
    public var customMirror: Mirror { Mirror(self, children: ["line": description, "headers": headers]) }
}
