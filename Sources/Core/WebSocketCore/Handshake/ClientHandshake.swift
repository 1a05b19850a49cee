/// The client's side of the opening handshake (RFC 6455 §4.1).
public struct ClientHandshake: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// What to send; its fields are all set and known to be fit to send.
    public let request: RequestHead

    private let key: WebSocketKey
    private let subprotocols: [String]
    private let offer: DeflateOffer?

    /// Prepares a request.
    ///
    /// - Parameters:
    ///   - url: Where to.
    ///   - subprotocols: In order of preference; each a token, none twice.
    ///   - deflate: What compression to ask for; `nil` for none.
    ///   - headers: More fields to send. `Host` takes the place of the URL's.
    ///   - generator: Where the key's bytes come from; unpredictable outside of tests.
    /// - Throws: ``HandshakeFailure/Kind/invalidSubprotocol``; ``HandshakeFailure/Kind/invalidHeader`` for fields that the
    ///   handshake sets itself (`Upgrade`, `Connection`, `Sec-WebSocket-*`), fields that announce a body, a second `Host`, or a
    ///   name or value that cannot be written.
    public init<G: RandomNumberGenerator>(
        url: WebSocketURL, subprotocols: [String] = [], deflate: DeflatePreferences? = nil, headers: HeaderFields = [:],
        using generator: inout G
    ) throws(HandshakeFailure) {
        try headers.refuseReserved()
        guard headers.values("Host").count <= 1 else { throw HandshakeFailure(.invalidHeader, "Host is given twice") }
        if let wrong = Subprotocols.firstInvalid(in: subprotocols) {
            throw HandshakeFailure(.invalidSubprotocol, "number \(wrong) of those offered is not a token, or offered twice")
        }
        key = WebSocketKey(using: &generator)
        offer = deflate?.offer
        self.subprotocols = subprotocols

        var fields: HeaderFields = [
            "Host": headers["Host"] ?? url.hostHeader, "Upgrade": "websocket", "Connection": "Upgrade",
            "Sec-WebSocket-Key": key.value, "Sec-WebSocket-Version": ServerHandshake.version,
        ]
        if !subprotocols.isEmpty { fields.add("Sec-WebSocket-Protocol", subprotocols.joined(separator: ", ")) }
        if let offer { fields.add("Sec-WebSocket-Extensions", offer.headerValue) }
        for field in headers where !HeaderSyntax.isEqual(field.name, "Host") { fields.add(field) }
        try fields.check()
        request = RequestHead(target: url.target, headers: fields)
    }

    /// The request's first line, for logs; no subprotocol, for one may carry a token.
    public var description: String { request.description }

    /// The request as it describes itself.
    public var customMirror: Mirror { Mirror(self, children: ["request": request]) }

    /// Checks the server's answer; anything not proven to be right fails.
    ///
    /// Give it final responses only, see ``ResponseHead/isInterim``. Throws ``HandshakeFailure/Kind/refused`` for a
    /// status other than 101, and what is wrong with a 101 otherwise.
    public func check(_ response: ResponseHead) throws(HandshakeFailure) -> Agreement {
        let headers = response.headers
        guard response.status == 101 else { throw HandshakeFailure(.refused, "the server answered \(response)") }
        guard response.minorVersion >= 1 else { throw HandshakeFailure(.invalidUpgrade, "HTTP/1.0 cannot upgrade") }
        let upgrade = headers.tokens("Upgrade")
        guard upgrade.count == 1, HeaderSyntax.isEqual(upgrade[0], "websocket") else {
            throw HandshakeFailure(.invalidUpgrade, "Upgrade is not `websocket`")
        }
        guard headers.contains("upgrade", in: "Connection") else {
            throw HandshakeFailure(.invalidUpgrade, "Connection has no `upgrade`")
        }
        let accept = headers.values("Sec-WebSocket-Accept")
        guard accept.count == 1 else { throw HandshakeFailure(.invalidAccept, accept.isEmpty ? "it is missing" : "it is there twice") }
        // Bytes, for `==` on strings takes a Kelvin sign for a K.
        guard accept[0].utf8.elementsEqual(key.accept.utf8) else {
            throw HandshakeFailure(.invalidAccept, "it does not answer this request's key")
        }
        return try agree(to: response)
    }

    /// What an answer that opens the WebSocket agrees to.
    func agree(to response: ResponseHead) throws(HandshakeFailure) -> Agreement {
        let headers = response.headers
        let extensions = try WebSocketExtension.parse(headers)
        return Agreement(
            subprotocol: try subprotocol(in: headers), deflate: try deflate(in: extensions),
            extensions: extensions.map(\.headerValue), response: response)
    }

    private func subprotocol(in headers: HeaderFields) throws(HandshakeFailure) -> String? {
        let answers = headers.values("Sec-WebSocket-Protocol")
        guard let answer = answers.first else { return nil }
        guard answers.count == 1, HeaderSyntax.isToken(answer), subprotocols.contains(answer) else {
            throw .subprotocolNotOffered
        }
        return answer
    }

    private func deflate(in extensions: [WebSocketExtension]) throws(HandshakeFailure) -> DeflateParameters? {
        guard let answer = extensions.first else { return nil }
        guard extensions.count == 1, let offer, answer.name == DeflateOffer.name else {
            let names = extensions.map(\.name).joined(separator: ", ")
            throw HandshakeFailure(.invalidExtension, "the server chose \(quoted(names)), which was not offered")
        }
        return try offer.accept(answer)
    }
}
