/// The status line and the header fields of an HTTP/1 response (RFC 9112 §4), or what HTTP/2 has in their place.
public struct ResponseHead: Hashable, MessageHead, CustomStringConvertible, CustomReflectable {
    /// The status code, `100...999`.
    public var status: Int
    /// The phrase after the status; may be empty.
    public var reason: String
    /// The `x` in `HTTP/1.x`.
    public var minorVersion: Int
    /// The fields, in order.
    public var headers: HeaderFields
    /// 1, or 2 for a response that came over HTTP/2: its `minorVersion` then means nothing.
    public var majorVersion = 1

    /// Makes a head; nothing is checked until it is encoded.
    ///
    /// Without a reason, the usual one for the status is used.
    public init(status: Int, reason: String? = nil, minorVersion: Int = 1, headers: HeaderFields = [:]) {
        self.status = status
        self.reason = reason ?? Self.reasons[status] ?? ""
        self.minorVersion = minorVersion
        self.headers = headers
    }

    /// Reads `HTTP/1.1 101 Switching Protocols`; the reason and the space before it may be absent.
    public init(startLine: String, headers: HeaderFields) throws(HandshakeFailure) {
        let parts = startLine.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        let minorVersion = try Self.minorVersion(Array(parts[0].utf8)[...])
        guard parts.count >= 2, parts[1].utf8.count == 3, HeaderSyntax.isDecimal(parts[1]), let status = Int(parts[1]), status >= 100 else {
            throw HandshakeFailure(.malformedHead, "the status line is not `HTTP/1.1 status reason`")
        }
        self.init(status: status, reason: parts.count == 3 ? String(parts[2]) : "", minorVersion: minorVersion, headers: headers)
    }

    /// Whether the real response is still to come: 1xx, but not 101 (RFC 9110 §15.2).
    public var isInterim: Bool { 100...199 ~= status && status != 101 }

    /// The bytes to send, the blank line included.
    ///
    /// Throws ``HandshakeFailure/Kind/invalidHeader`` if a part would break out of its place.
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

    /// The status, for logs, and the reason if it is the usual one: another is the server's own words, and may repeat a secret.
    public var description: String { reason.isEmpty || reason != Self.reasons[status] ? "\(status)" : "\(status) \(reason)" }

    /// The status and the fields, as they describe themselves.
    public var customMirror: Mirror { Mirror(self, children: ["line": description, "headers": headers]) }

    private static let reasons = [
        101: "Switching Protocols", 200: "OK", 204: "No Content", 301: "Moved Permanently", 302: "Found", 307: "Temporary Redirect",
        308: "Permanent Redirect", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
        408: "Request Timeout", 426: "Upgrade Required", 429: "Too Many Requests", 431: "Request Header Fields Too Large",
        500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
        505: "HTTP Version Not Supported",
    ]
}
