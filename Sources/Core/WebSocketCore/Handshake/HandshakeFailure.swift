/// Why an opening handshake failed (RFC 6455 §4).
public struct HandshakeFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure, for code.
    public let kind: Kind
    /// The details, for people.
    public let detail: String

    /// Creates a failure.
    public init(_ kind: Kind, _ detail: String) { (self.kind, self.detail) = (kind, detail) }

    /// The kind and the details in one line, without credentials.
    public var description: String { "\(kind): \(detail)" }

    /// The kinds of handshake failure; more may be added.
    public struct Kind: Hashable, Sendable, CustomStringConvertible {
        /// The kind in words, such as `malformed head`.
        public let description: String
        fileprivate let status: Int?

        private init(_ description: String, status: Int? = nil) { (self.description, self.status) = (description, status) }

        /// The data from the peer is not an HTTP/1 message head.
        public static let malformedHead = Kind("malformed head", status: 400)
        /// The head is longer than the limit.
        public static let headTooLarge = Kind("head too large", status: 431)
        /// The peer uses an HTTP version other than 1.x.
        public static let unsupportedHTTPVersion = Kind("unsupported HTTP version", status: 505)
        /// The request is plain HTTP and may be handled as such.
        public static let notAnUpgrade = Kind("not a WebSocket upgrade", status: 426)
        /// The request asks for an upgrade with a method other than GET.
        public static let invalidMethod = Kind("invalid method", status: 405)
        /// The request asks for an upgrade but violates a rule of RFC 6455 §4.2.1.
        public static let invalidRequest = Kind("invalid upgrade request", status: 400)
        /// The request asks for a WebSocket version other than 13.
        public static let unsupportedVersion = Kind("unsupported WebSocket version", status: 426)
        /// The request asks for an HTTP/2 tunnel with a protocol other than `websocket`.
        public static let unsupportedProtocol = Kind("unsupported protocol", status: 501)
        /// The length of a plain request's body is invalid, or its chunks violate a rule of RFC 9112 §7.1.
        public static let invalidBody = Kind("invalid body", status: 400)
        /// The body of a plain request has a transfer coding other than chunked.
        public static let unsupportedCoding = Kind("unsupported transfer coding", status: 501)
        /// This side set a header field that may not be sent.
        public static let invalidHeader = Kind("invalid header", status: 500)
        /// A subprotocol was chosen that was not offered, or this side offers a name that is not a token.
        public static let invalidSubprotocol = Kind("invalid subprotocol", status: 500)
        /// The server responded with a status other than 101; over HTTP/2, other than 200 to 299.
        public static let refused = Kind("upgrade refused")
        /// The server's response opens the WebSocket but violates a rule of RFC 6455 §4.2.2 or RFC 8441 §5.
        public static let invalidUpgrade = Kind("invalid upgrade response")
        /// The server's `Sec-WebSocket-Accept` is missing or wrong.
        public static let invalidAccept = Kind("invalid Sec-WebSocket-Accept")
        /// The server responded with an extension or a parameter that is not allowed.
        public static let invalidExtension = Kind("invalid extension")
    }

    /// The response with which a server refuses the request; nil for failures that occur only on the client.
    public var refusal: ResponseHead? {
        guard let status = kind.status else { return nil }
        var headers: HeaderFields = ["Connection": "close", "Content-Length": "0"]
        if status == 426 {  // RFC 9110 §15.5.22
            headers["Connection"] = "Upgrade, close"
            headers["Upgrade"] = "websocket"
            headers["Sec-WebSocket-Version"] = ServerHandshake.version  // RFC 6455 §4.4
        }
        if status == 405 { headers["Allow"] = "GET" }  // RFC 9110 §15.5.6
        return ResponseHead(status: status, headers: headers)
    }
}
