public import CodecCore

/// An effect that a router orders.
package enum RouterEffect: Hashable, Sendable {
    /// Sends a message to a client.
    case send(WAMPMessage, to: RouterConnection)
    /// Sends the same message to several clients; the shell encodes it once per serialization.
    case sendToAll(WAMPMessage, [RouterConnection])
    /// Authenticates a client: answer with `examined`.
    case examine(RouterConnection, RouterCredentials)
    /// Ends a connection after everything that was sent on it.
    case close(RouterConnection, RouterClosing)
    /// Reports news to the operator.
    case news(RouterNews)
}

extension RouterEffect {
    /// Answers a request with an error of the router itself, with a text for people.
    static func refuse(
        _ kind: WAMPRequestKind, _ request: WAMPID, of participant: Participant, _ uri: String, _ words: String
    ) -> RouterEffect {
        .send(.error(kind, request: request, details: ValueMap(), uri: uri, WAMPArguments([.text(words)])), to: participant.connection)
    }
}

/// The credentials of a client that wants to join.
public enum RouterCredentials: Hashable, Sendable {
    /// The client's hello: the requested realm, and all details.
    case hello(realm: String, details: ValueMap)
    /// The client's answer to the challenge.
    case answer(signature: String, extra: ValueMap)
}

extension RouterCredentials: CustomStringConvertible {
    /// The kind of credentials, without anything that could be secret.
    public var description: String {
        switch self {
        case .hello(let realm, _): "hello to \(realm)"
        case .answer: "answer to the challenge"
        }
    }
}

/// How a connection ends.
package enum RouterClosing: Hashable, Sendable {
    /// The session has ended normally: WebSocket code 1000.
    case goodbye
    /// The client violated the protocol: 1002.
    case violation
    /// The client takes too little of what is sent to it: 1013.
    case overrun
    /// The router is shutting down: 1001.
    case stopping
    /// The router failed on a request of the client: 1011.
    case failure
    /// Without a close frame.
    case cut
}

/// News from a router.
package enum RouterNews: Hashable, Sendable {
    /// A session has joined.
    case joined(WAMPID, realm: String, authID: String, authRole: String)
    /// A session has left: the reason as a URI, or nil if its connection was lost.
    case left(WAMPID, realm: String, reason: String?)
    /// A client was refused: the reason as a URI.
    case refused(RouterConnection, reason: String)
    /// A client violated the protocol in this way.
    case violation(RouterConnection, String)
    /// A client was disconnected, because too much waited to be sent to it.
    case overrun(WAMPID, realm: String)
    /// The last session has ended after `stop`.
    case stopped
}

extension RouterNews {
    /// Returns a client's text for display: on one line, and 200 characters at most.
    package static func shown(_ text: String) -> String {
        // Cut by scalars first: a single character may be as long as a message.
        let start = text.unicodeScalars.prefix(200)
        return WAMPWording.shown(String(start)) + (start.endIndex == text.unicodeScalars.endIndex ? "" : "…")
    }
}
