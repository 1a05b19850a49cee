import NIOCore
import WebSocketCore

extension ServerOptions {
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
