package import NIOCore
package import WebSocketCore

/// The options and callbacks of the server's side of a handshake.
package struct ServerOptions: Sendable {
    /// The decision about an upgrade request.
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

    /// The outcome of a request for a WebSocket.
    package enum Outcome: Sendable {
        /// The WebSocket is open, after the given time since the TCP connection.
        case opened(after: Duration)
        /// The request was answered with something else.
        case declined
        /// The request violated the rules of the handshake.
        case invalid
        /// The handshake took too long.
        case timedOut
    }

    package var headLimit = 16 * 1024
    /// The timeout from the connection to the end of the handshake, including TLS.
    package var handshakeTimeout: Duration = .seconds(10)
    package var connection = ConnectionSettings(role: .server)
    /// Whether there is TLS between the socket and the handshake.
    package var isSecure = false
    /// Called with the outcome of each WebSocket request; not called for other requests.
    package var onOutcome: (@Sendable (Outcome) -> Void)?
    /// Creates the handler that receives a connection's messages on the event loop; nil lets tasks take them.
    package var inline: (@Sendable (RequestHead, _ peer: SocketAddress?) -> any InlineHandler)?
    /// Decides about every valid upgrade request; nil accepts all of them at once.
    package var decide: (@Sendable (ServerHandshake, _ peer: SocketAddress?) async -> Decision)?
    /// The pages that may open a WebSocket.
    package var origins = OriginPolicy()
    /// The handling of requests that are not upgrades, over HTTP/1.1; if it is nil or has no permit, `answer` is used and the connection closes.
    package var guests: PlainGuests?
    /// Answers requests that are not upgrades.
    package var answer: @Sendable (RequestHead, _ peer: SocketAddress?) async -> PlainResponse

    package init(
        decide: (@Sendable (ServerHandshake, _ peer: SocketAddress?) async -> Decision)?,
        answer: @escaping @Sendable (RequestHead, _ peer: SocketAddress?) async -> PlainResponse
    ) {
        (self.decide, self.answer) = (decide, answer)
    }

    /// Returns the app's decision about a request.
    func decision(on request: RequestHead, _ handshake: ServerHandshake?, from peer: SocketAddress?) async -> Decision {
        guard let handshake, let decide else { return .answer(await answer(request, peer)) }
        return await decide(handshake, peer)
    }
}

extension ServerOptions.PlainResponse {
    /// Whether the response has no body and no Content-Length, RFC 9110 §8.6.
    var isBodiless: Bool { head.status == 204 }

    /// The head with the length of the body.
    var sizedHead: ResponseHead {
        var head = head
        head.headers["Content-Length"] = isBodiless ? nil : "\(body.count)"
        return head
    }

    /// Creates a refusal of a page, or of a host name that the server does not have.
    init(forbidding reason: String) {
        self.init(head: ResponseHead(status: 403, headers: ["Content-Type": "text/plain; charset=utf-8"]), body: Array("\(reason)\n".utf8))
    }

    init(refusing failure: HandshakeFailure) {
        self.init(head: failure.refusal ?? ResponseHead(status: 400), body: Array("\(failure)\n".utf8))
        head.headers["Content-Type"] = "text/plain; charset=utf-8"
    }
}
