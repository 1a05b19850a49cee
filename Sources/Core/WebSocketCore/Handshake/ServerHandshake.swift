import MachineCore

/// The server side of the opening handshake (RFC 6455 §4.2), also over HTTP/2 (RFC 8441).
package struct ServerHandshake: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// The request as received.
    package let request: RequestHead
    /// The offered subprotocols, in the client's order of preference.
    package let offeredSubprotocols: [String]
    /// The offered extensions, in the client's order of preference.
    package let offeredExtensions: [WebSocketExtension]

    /// Nil over HTTP/2, which has no such proof (RFC 8441 §5).
    private let key: WebSocketKey?

    static let version = "13"

    /// Checks a request.
    ///
    /// Throws ``HandshakeFailure/Kind/notAnUpgrade`` for plain HTTP, which may be handled as such. For any other failure, the server must
    /// answer with its ``HandshakeFailure/refusal``.
    package init(_ request: RequestHead) throws(HandshakeFailure) {
        let headers = request.headers
        if request.majorVersion == 2 { try Self.checkTunnel(request) } else { try Self.checkUpgrade(request) }
        // A body would be read as frames.
        guard headers["Transfer-Encoding"] == nil, headers.values("Content-Length").allSatisfy({ $0 == "0" }) else {
            throw HandshakeFailure(.invalidRequest, "an upgrade request has no body")
        }
        let versions = headers.values("Sec-WebSocket-Version")
        guard versions == [Self.version] else {
            throw HandshakeFailure(.unsupportedVersion, "\(quoted(versions.joined(separator: ", "))) instead of \(Self.version)")
        }
        key = request.majorVersion == 2 ? nil : try Self.key(in: headers)
        let subprotocols = headers.tokens("Sec-WebSocket-Protocol")
        if let wrong = Subprotocols.firstInvalid(in: subprotocols) {
            throw HandshakeFailure(.invalidRequest, "number \(wrong) of the subprotocols is not a token, or is repeated")
        }
        do throws(HandshakeFailure) {  // RFC 6455 §9.1: grammar errors fail; unknown extensions are ignored.
            offeredExtensions = try WebSocketExtension.parse(headers)
        } catch {
            throw HandshakeFailure(.invalidRequest, error.detail)
        }
        self.request = request
        offeredSubprotocols = subprotocols
    }

    private static func checkUpgrade(_ request: RequestHead) throws(HandshakeFailure) {
        let headers = request.headers
        guard headers.contains("websocket", in: "Upgrade") else {
            throw HandshakeFailure(.notAnUpgrade, "the request has no `Upgrade: websocket`")
        }
        guard request.minorVersion >= 1 else {  // RFC 9110 §7.8: Upgrade means nothing in HTTP/1.0.
            throw HandshakeFailure(.notAnUpgrade, "HTTP/1.0 cannot upgrade")
        }
        guard request.method == "GET" else { throw HandshakeFailure(.invalidMethod, "\(quoted(request.method)) instead of GET") }
        guard headers.contains("upgrade", in: "Connection") else {
            throw HandshakeFailure(.invalidRequest, "Connection has no `Upgrade`: perhaps a proxy removed it")
        }
        guard headers.values("Host").count == 1 else { throw HandshakeFailure(.invalidRequest, "there must be one Host") }
    }

    /// RFC 8441 §4.
    private static func checkTunnel(_ request: RequestHead) throws(HandshakeFailure) {
        guard request.method == "CONNECT", let name = request.tunnelProtocol else {
            throw HandshakeFailure(.notAnUpgrade, "the request is not a CONNECT with a `:protocol`")
        }
        // Case does not matter (RFC 9110 §7.8): a gateway forwards its client's spelling from Upgrade.
        guard HeaderSyntax.lowercased(name[...]) == "websocket" else {
            throw HandshakeFailure(.unsupportedProtocol, "\(quoted(name)) instead of websocket")
        }
        guard request.headers.values("Host").count == 1 else { throw HandshakeFailure(.invalidRequest, "there must be one :authority") }
    }

    private static func key(in headers: HeaderFields) throws(HandshakeFailure) -> WebSocketKey {
        let keys = headers.values("Sec-WebSocket-Key")
        guard keys.count == 1, let key = WebSocketKey(keys[0]) else {
            throw HandshakeFailure(.invalidRequest, "there must be one Sec-WebSocket-Key of 16 bytes in base64")
        }
        return key
    }

    /// The request's first line, for logs.
    ///
    /// Subprotocols are omitted because one may carry a token.
    package var description: String { request.description }

    /// A mirror of the request.
    package var customMirror: Mirror { Mirror(self, children: ["request": request]) }

    /// Accepts the request.
    ///
    /// Send the response of the returned agreement.
    ///
    /// - Parameters:
    ///   - subprotocol: One of the offered subprotocols; nil for none.
    ///   - deflate: The compression that this side supports; nil for none.
    ///   - headers: Additional fields to send.
    /// - Throws: ``HandshakeFailure/Kind/invalidSubprotocol`` for a subprotocol that was not offered;
    ///   ``HandshakeFailure/Kind/invalidHeader`` for fields that the handshake sets itself or that cannot be sent.
    package func accept(
        subprotocol: String? = nil, deflate: DeflatePreferences? = nil, headers: HeaderFields = [:]
    ) throws(HandshakeFailure) -> Agreement {
        try headers.refuseReserved()
        try headers.check()
        var fields = HeaderFields()
        fields.reserveCapacity(3 + headers.count)
        if let key {
            fields.add("Upgrade", "websocket")
            fields.add("Connection", "Upgrade")
            fields.add("Sec-WebSocket-Accept", key.accept)
        }
        if let subprotocol {
            guard offeredSubprotocols.contains(subprotocol) else { throw .subprotocolNotOffered }
            fields.add("Sec-WebSocket-Protocol", subprotocol)
        }
        let agreed = deflate?.answer(to: offeredExtensions)
        if let agreed { fields.add("Sec-WebSocket-Extensions", agreed.answer.headerValue) }
        for field in headers { fields.add(field) }
        return Agreement(
            subprotocol: subprotocol, deflate: agreed?.parameters, extensions: agreed.map { [$0.answer.headerValue] } ?? [],
            response: response(fields))
    }

    private func response(_ fields: HeaderFields) -> ResponseHead {
        var response = ResponseHead(status: key == nil ? 200 : 101, headers: fields)
        response.majorVersion = request.majorVersion
        return response
    }
}

/// The result of the opening handshake.
public struct Agreement: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// The subprotocol that the server chose among those offered.
    public var subprotocol: String?
    /// The compression parameters; nil without compression.
    public var deflate: DeflateParameters?
    /// The extensions in use, as written in the response.
    public var extensions: [String]
    /// The response: 101, or 200 to 299 over HTTP/2.
    public var response: ResponseHead

    /// Creates an agreement.
    public init(subprotocol: String? = nil, deflate: DeflateParameters? = nil, extensions: [String] = [], response: ResponseHead) {
        (self.subprotocol, self.deflate, self.extensions, self.response) = (subprotocol, deflate, extensions, response)
    }

    /// The response's status, the subprotocol and the extensions, for logs.
    ///
    /// A subprotocol that is not well known is hidden.
    public var description: String {
        (["\(response)"] + (subprotocol.map { ["subprotocol \(Secrecy.subprotocol($0))"] } ?? []) + extensions).joined(separator: ", ")
    }

    /// A mirror that shows the description and the response.
    public var customMirror: Mirror { Mirror(self, children: ["agreement": description, "response": response]) }
}

/// The rules for lists of subprotocols.
enum Subprotocols {
    /// Returns the position, counted from 1, of the first name that is not a token or is repeated (RFC 6455 §4.1, item 10).
    ///
    /// The name itself is not returned, because it may contain a secret.
    static func firstInvalid(in names: [String]) -> Int? {
        var seen: Set<String> = []
        return names.firstIndex { !HeaderSyntax.isToken($0) || !seen.insert($0).inserted }.map { $0 + 1 }
    }
}

extension HandshakeFailure {
    /// The message contains no name: a server that echoes the offer would put a token into logs.
    static var subprotocolNotOffered: HandshakeFailure {
        HandshakeFailure(.invalidSubprotocol, "the server chose a subprotocol that was not offered, or several")
    }
}

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
