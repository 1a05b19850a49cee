package import NIOCore
package import WebSocketCore

/// What the server's end of a handshake obeys, and whom it asks.
package struct ServerOptions: Sendable {
    /// What is to become of an upgrade request.
    package enum Decision: Sendable {
        case accept(subprotocol: String?, headers: HeaderFields)
        case answer(PlainResponse)
    }
    /// An HTTP response with its whole body.
    package struct PlainResponse: Sendable {
        package var head: ResponseHead
        package var body: [UInt8]

        package init(head: ResponseHead, body: [UInt8]) { (self.head, self.body) = (head, body) }
    }

    /// What became of a request for a WebSocket.
    package enum Outcome: Sendable {
        /// It is open; so long after the TCP connection.
        case opened(after: Duration)
        /// It was answered with something else.
        case declined
        /// It broke a rule of the handshake.
        case invalid
        /// It took too long.
        case timedOut
    }

    package var headLimit = 16 * 1024
    /// From the connection to the end of the handshake, TLS included.
    package var handshakeTimeout: Duration = .seconds(10)
    package var connection = ConnectionSettings(role: .server)
    /// There is TLS between the socket and the handshake.
    package var isSecure = false
    /// Told what became of each; of requests for something else it is told nothing.
    package var onOutcome: (@Sendable (Outcome) -> Void)?
    /// Makes who gets a connection's messages on the event loop; nil: tasks take them.
    package var inline: (@Sendable (RequestHead, _ peer: SocketAddress?) -> any InlineHandler)?
    /// Asked about every valid upgrade request; nil: all are accepted, at once.
    package var decide: (@Sendable (ServerHandshake, _ peer: SocketAddress?) async -> Decision)?
    /// Which pages may ask for a WebSocket.
    package var origins = OriginPolicy()
    /// Who answers requests that are not upgrades, over HTTP/1.1; nil, or without a seat: `answer` does, and the connection closes.
    package var guests: PlainGuests?
    /// Answers requests that are not upgrades.
    package var answer: @Sendable (RequestHead, _ peer: SocketAddress?) async -> PlainResponse

    package init(
        decide: (@Sendable (ServerHandshake, _ peer: SocketAddress?) async -> Decision)?,
        answer: @escaping @Sendable (RequestHead, _ peer: SocketAddress?) async -> PlainResponse
    ) {
        (self.decide, self.answer) = (decide, answer)
    }

    /// What the app says to a request.
    func decision(on request: RequestHead, _ handshake: ServerHandshake?, from peer: SocketAddress?) async -> Decision {
        guard let handshake, let decide else { return .answer(await answer(request, peer)) }
        return await decide(handshake, peer)
    }
}

extension ServerOptions.PlainResponse {
    /// RFC 9110 §8.6: no Content-Length either.
    var isBodiless: Bool { head.status == 204 }

    /// The head, which says how long the body is.
    var sizedHead: ResponseHead {
        var head = head
        head.headers["Content-Length"] = isBodiless ? nil : "\(body.count)"
        return head
    }

    /// A page, or a name that the server does not have, is turned away.
    init(forbidding reason: String) {
        self.init(head: ResponseHead(status: 403, headers: ["Content-Type": "text/plain; charset=utf-8"]), body: Array("\(reason)\n".utf8))
    }

    init(refusing failure: HandshakeFailure) {
        self.init(head: failure.refusal ?? ResponseHead(status: 400), body: Array("\(failure)\n".utf8))
        head.headers["Content-Type"] = "text/plain; charset=utf-8"
    }
}
