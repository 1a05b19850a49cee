import MachineCore

/// The server's side of the opening handshake (RFC 6455 §4.2), also over HTTP/2 (RFC 8441).
public struct ServerHandshake: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// The request as it came.
    public let request: RequestHead
    /// In the client's order of preference.
    public let offeredSubprotocols: [String]
    /// What the client would use, in its order of preference.
    public let offeredExtensions: [WebSocketExtension]

    /// Nil over HTTP/2, where nothing has to be proven (RFC 8441 §5).
    private let key: WebSocketKey?

    static let version = "13"

    /// Checks a request.
    ///
    /// Throws ``HandshakeFailure/Kind/notAnUpgrade`` for plain HTTP, so that it may be served as such; any other failure
    /// is to be answered with its ``HandshakeFailure/refusal``.
    public init(_ request: RequestHead) throws(HandshakeFailure) {
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
            throw HandshakeFailure(.invalidRequest, "number \(wrong) of the subprotocols is not a token, or there twice")
        }
        do throws(HandshakeFailure) {  // RFC 6455 §9.1: what breaks the grammar fails; what is merely unknown is passed over.
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
            throw HandshakeFailure(.invalidRequest, "Connection has no `Upgrade`: perhaps a proxy took it out")
        }
        guard headers.values("Host").count == 1 else { throw HandshakeFailure(.invalidRequest, "there must be one Host") }
    }

    /// RFC 8441 §4.
    private static func checkTunnel(_ request: RequestHead) throws(HandshakeFailure) {
        guard request.method == "CONNECT", let name = request.tunnelProtocol else {
            throw HandshakeFailure(.notAnUpgrade, "the request is no CONNECT with a `:protocol`")
        }
        // Case does not matter (RFC 9110 §7.8): a gateway passes on what its client wrote into Upgrade.
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

    /// The request's first line, for logs; no subprotocol, for one may carry a token.
    public var description: String { request.description }

    /// The request as it describes itself.
    public var customMirror: Mirror { Mirror(self, children: ["request": request]) }

    /// Accepts the request; send the agreement's response.
    ///
    /// - Parameters:
    ///   - subprotocol: One of the offered, or `nil` for none.
    ///   - deflate: What compression this side is willing to do; `nil` for none.
    ///   - headers: More fields to send.
    /// - Throws: ``HandshakeFailure/Kind/invalidSubprotocol`` for one that was not offered;
    ///   ``HandshakeFailure/Kind/invalidHeader`` for fields that the handshake sets itself or that cannot be sent.
    public func accept(
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

/// What client and server agreed on in the opening handshake.
public struct Agreement: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// The subprotocol that the server chose among those offered.
    public var subprotocol: String?
    /// How messages are compressed; `nil` if they are not.
    public var deflate: DeflateParameters?
    /// The extensions in use, as written in the answer.
    public var extensions: [String]
    /// The response itself: 101, or 200 to 299 over HTTP/2.
    public var response: ResponseHead

    /// Makes an agreement.
    public init(subprotocol: String? = nil, deflate: DeflateParameters? = nil, extensions: [String] = [], response: ResponseHead) {
        (self.subprotocol, self.deflate, self.extensions, self.response) = (subprotocol, deflate, extensions, response)
    }

    /// The response's status, the subprotocol and the extensions, for logs; a subprotocol that is not well known is hidden.
    public var description: String {
        (["\(response)"] + (subprotocol.map { ["subprotocol \(Secrecy.subprotocol($0))"] } ?? []) + extensions).joined(separator: ", ")
    }

    /// The description, and the response as it describes itself.
    public var customMirror: Mirror { Mirror(self, children: ["agreement": description, "response": response]) }
}

/// The rules for lists of subprotocols.
enum Subprotocols {
    /// The place, counted from 1, of the first that is no token or there twice (RFC 6455 §4.1, item 10).
    ///
    /// Not its name, which may hold a secret.
    static func firstInvalid(in names: [String]) -> Int? {
        var seen: Set<String> = []
        return names.firstIndex { !HeaderSyntax.isToken($0) || !seen.insert($0).inserted }.map { $0 + 1 }
    }
}

extension HandshakeFailure {
    /// It names none: a server that repeats what it was offered would put a token into logs.
    static var subprotocolNotOffered: HandshakeFailure {
        HandshakeFailure(.invalidSubprotocol, "the server chose a subprotocol that was not offered, or several")
    }
}
