/// The head of an HTTP/1 message: ``RequestHead`` or ``ResponseHead``.
public protocol MessageHead: Sendable {
    /// Creates a head from its first line, without the line break, and the fields that followed.
    init(startLine: String, headers: HeaderFields) throws(HandshakeFailure)

    /// The fields, in order.
    var headers: HeaderFields { get set }
}

extension MessageHead {
    /// Returns the minor version of `HTTP/1.x` (RFC 9112 §2.3).
    static func minorVersion(_ bytes: ArraySlice<UInt8>) throws(HandshakeFailure) -> Int {
        guard bytes.starts(with: "HTTP/".utf8) else { throw HandshakeFailure(.malformedHead, "the first line is not HTTP") }
        guard bytes.count == 8, bytes.starts(with: "HTTP/1.".utf8), let digit = bytes.last, 0x30...0x39 ~= digit else {
            throw HandshakeFailure(.unsupportedHTTPVersion, "\(quoted(String(decoding: bytes, as: UTF8.self))) instead of HTTP/1.1")
        }
        return Int(digit & 0x0F)
    }
}

/// The request line and the header fields of an HTTP/1 request (RFC 9112 §3), or their equivalent in HTTP/2.
public struct RequestHead: Hashable, MessageHead, CustomStringConvertible, CustomReflectable {
    /// The method, such as `GET`; case-sensitive.
    public var method: String
    /// The target as sent: `/path?query`, `http://host/path`, or `*`.
    public var target: String
    /// The `x` in `HTTP/1.x`.
    public var minorVersion: Int
    /// The fields, in order.
    public var headers: HeaderFields
    /// 1, or 2 for a request over HTTP/2.
    ///
    /// Then the `Host` is its `:authority`, and `minorVersion` has no meaning.
    public var majorVersion = 1
    /// The protocol of an extended CONNECT over HTTP/2, such as `websocket` (RFC 8441 §4); nil for any other request.
    public var tunnelProtocol: String?

    /// Creates a head.
    ///
    /// It is checked only when it is encoded.
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

    /// The path of the target, percent-encoded; at least `/`, or `*`.
    public var path: String {
        let path = origin.prefix { $0 != "?" }
        return path.isEmpty ? "/" : String(path)
    }

    /// The part of the target after the first `?`, percent-encoded; nil without a `?`.
    public var query: String? {
        origin.firstIndex(of: "?").map { String(origin[origin.index(after: $0)...]) }
    }

    /// The target from its path on.
    ///
    /// Servers must accept the absolute form too (RFC 9112 §3.2.2).
    private var origin: Substring {
        guard let authority else { return target[...] }
        return target[authority.endIndex...]
    }

    /// The host and optional port of a target in absolute form; nil for other forms.
    private var authority: Substring? {
        guard !target.hasPrefix("/"), let scheme = target.firstRange(of: "://") else { return nil }
        return target[scheme.upperBound...].prefix { $0 != "/" && $0 != "?" }
    }

    /// Throws if the target names another server than `Host` does.
    ///
    /// According to RFC 9112 §3.2.2 the target would take precedence, but the protection against foreign pages checks `Host`.
    package func checkTarget() throws(HandshakeFailure) {
        guard let authority, !HeaderSyntax.isEqual(authority, headers["Host"] ?? "") else { return }
        throw HandshakeFailure(.malformedHead, "the target names \(quoted(String(authority))), which is not the Host")
    }

    /// Returns the bytes to send, including the blank line.
    ///
    /// Throws ``HandshakeFailure/Kind/invalidHeader`` if a part contains forbidden characters.
    public func encoded() throws(HandshakeFailure) -> [UInt8] {
        guard HeaderSyntax.isToken(method), HeaderSyntax.isVisible(target), 0...9 ~= minorVersion else {
            throw HandshakeFailure(.invalidHeader, "the request line cannot be written: method or target has forbidden characters")
        }
        try headers.check()
        var bytes = Array("\(method) \(target) HTTP/1.\(minorVersion)\r\n".utf8)
        headers.write(to: &bytes)
        return bytes
    }

    /// The method and the path, for logs.
    ///
    /// The query and the fields are omitted because they may contain credentials.
    public var description: String { "\(method) \(path)\(query == nil ? "" : "?…")" }

    /// A mirror that shows the first line and the descriptions of the fields.
    public var customMirror: Mirror { Mirror(self, children: ["line": description, "headers": headers]) }
}

/// The status line and the header fields of an HTTP/1 response (RFC 9112 §4), or their equivalent in HTTP/2.
public struct ResponseHead: Hashable, MessageHead, CustomStringConvertible, CustomReflectable {
    /// The status code, `100...999`.
    public var status: Int
    /// The phrase after the status; may be empty.
    public var reason: String
    /// The `x` in `HTTP/1.x`.
    public var minorVersion: Int
    /// The fields, in order.
    public var headers: HeaderFields
    /// 1, or 2 for a response over HTTP/2.
    ///
    /// Then `minorVersion` has no meaning.
    public var majorVersion = 1

    /// Creates a head.
    ///
    /// It is checked only when it is encoded.
    ///
    /// Without a reason, the standard one for the status is used.
    public init(status: Int, reason: String? = nil, minorVersion: Int = 1, headers: HeaderFields = [:]) {
        self.status = status
        self.reason = reason ?? Self.reasons[status] ?? ""
        self.minorVersion = minorVersion
        self.headers = headers
    }

    /// Reads `HTTP/1.1 101 Switching Protocols`.
    ///
    /// The reason and the space before it may be absent.
    public init(startLine: String, headers: HeaderFields) throws(HandshakeFailure) {
        let parts = startLine.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        let minorVersion = try Self.minorVersion(Array(parts[0].utf8)[...])
        guard parts.count >= 2, parts[1].utf8.count == 3, HeaderSyntax.isDecimal(parts[1]), let status = Int(parts[1]), status >= 100 else {
            throw HandshakeFailure(.malformedHead, "the status line is not `HTTP/1.1 status reason`")
        }
        self.init(status: status, reason: parts.count == 3 ? String(parts[2]) : "", minorVersion: minorVersion, headers: headers)
    }

    /// Whether the final response is still to come: 1xx, except 101 (RFC 9110 §15.2).
    public var isInterim: Bool { 100...199 ~= status && status != 101 }

    /// Returns the bytes to send, including the blank line.
    ///
    /// Throws ``HandshakeFailure/Kind/invalidHeader`` if a part contains forbidden characters.
    public func encoded() throws(HandshakeFailure) -> [UInt8] {
        guard 100...999 ~= status, HeaderSyntax.isFieldValue(reason), 0...9 ~= minorVersion else {
            throw HandshakeFailure(.invalidHeader, "the status line cannot be written: \(status) \(quoted(reason))")
        }
        try headers.check()
        var bytes: [UInt8] = []
        bytes.reserveCapacity(256)
        bytes += "HTTP/1.\(minorVersion) \(status) ".utf8
        bytes += reason.utf8
        bytes += "\r\n".utf8
        headers.write(to: &bytes)
        return bytes
    }

    /// The status, for logs, and the reason if it is the standard one.
    ///
    /// Any other reason is the server's own text and may repeat a secret.
    public var description: String { reason.isEmpty || reason != Self.reasons[status] ? "\(status)" : "\(status) \(reason)" }

    /// A mirror that shows the status and the descriptions of the fields.
    public var customMirror: Mirror { Mirror(self, children: ["line": description, "headers": headers]) }

    private static let reasons = [
        101: "Switching Protocols", 200: "OK", 204: "No Content", 301: "Moved Permanently", 302: "Found", 307: "Temporary Redirect",
        308: "Permanent Redirect", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
        408: "Request Timeout", 426: "Upgrade Required", 429: "Too Many Requests", 431: "Request Header Fields Too Large",
        500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
        505: "HTTP Version Not Supported",
    ]
}

/// The HTTP version with which a WebSocket is opened.
public enum HTTPVersion: Hashable, Sendable, CaseIterable {
    /// HTTP/2 (RFC 8441) over TLS if both sides support it, otherwise HTTP/1.1.
    case automatic
    /// Only HTTP/1.1 (RFC 6455): each WebSocket has its own TCP connection.
    case http1
    /// Only HTTP/2: WebSockets share TCP connections. Without TLS, HTTP/2 is used by prior knowledge.
    case http2
}
