/// Why an opening handshake did not become a connection (RFC 6455 §4).
public struct HandshakeFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// What was wrong, for code to decide by.
    public let kind: Kind
    /// What exactly was wrong, for people.
    public let detail: String

    /// Makes a failure.
    public init(_ kind: Kind, _ detail: String) { (self.kind, self.detail) = (kind, detail) }

    /// The kind and the detail in one line; holds no credentials.
    public var description: String { "\(kind): \(detail)" }

    /// The kinds of handshake failure; more may be added.
    public struct Kind: Hashable, Sendable, CustomStringConvertible {
        /// In plain words, such as `malformed head`.
        public let description: String
        fileprivate let status: Int?

        private init(_ description: String, status: Int? = nil) { (self.description, self.status) = (description, status) }

        /// What the peer sent is not an HTTP/1 message head.
        public static let malformedHead = Kind("malformed head", status: 400)
        /// The head is longer than the limit.
        public static let headTooLarge = Kind("head too large", status: 431)
        /// The peer speaks an HTTP other than 1.x.
        public static let unsupportedHTTPVersion = Kind("unsupported HTTP version", status: 505)
        /// The request is plain HTTP and may be served as such.
        public static let notAnUpgrade = Kind("not a WebSocket upgrade", status: 426)
        /// The request asks for an upgrade with a method other than GET.
        public static let invalidMethod = Kind("invalid method", status: 405)
        /// The request asks for an upgrade and breaks a rule of RFC 6455 §4.2.1.
        public static let invalidRequest = Kind("invalid upgrade request", status: 400)
        /// The request is for a WebSocket version other than 13.
        public static let unsupportedVersion = Kind("unsupported WebSocket version", status: 426)
        /// The request asks, over HTTP/2, for a tunnel of another protocol than `websocket`.
        public static let unsupportedProtocol = Kind("unsupported protocol", status: 501)
        /// The length of a plain request's body is unclear, or its chunks break a rule of RFC 9112 §7.1.
        public static let invalidBody = Kind("invalid body", status: 400)
        /// The body of a plain request is coded in a way other than in chunks.
        public static let unsupportedCoding = Kind("unsupported transfer coding", status: 501)
        /// Our own side named a header that may not be sent.
        public static let invalidHeader = Kind("invalid header", status: 500)
        /// A subprotocol was chosen that was not offered, or our own side offers a name that is not a token.
        public static let invalidSubprotocol = Kind("invalid subprotocol", status: 500)
        /// The server answered with a status other than 101; over HTTP/2, than 200 to 299.
        public static let refused = Kind("upgrade refused")
        /// The server's answer opens the WebSocket and breaks a rule of RFC 6455 §4.2.2 or RFC 8441 §5.
        public static let invalidUpgrade = Kind("invalid upgrade response")
        /// The server's `Sec-WebSocket-Accept` is missing or wrong.
        public static let invalidAccept = Kind("invalid Sec-WebSocket-Accept")
        /// The server answered with an extension or a parameter that it may not.
        public static let invalidExtension = Kind("invalid extension")
    }

    /// What a server answers before it closes; `nil` for failures that only a client meets.
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
