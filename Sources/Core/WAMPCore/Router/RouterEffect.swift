public import CodecCore

/// What a router asks for, or tells.
public enum RouterEffect: Hashable, Sendable {
    /// Send this to a client.
    case send(WAMPMessage, to: RouterConnection)
    /// Send the same to several clients; the shell writes it once for each serialization.
    case sendToAll(WAMPMessage, [RouterConnection])
    /// Find out who a client is: answer with `examined`.
    case examine(RouterConnection, RouterCredentials)
    /// End a connection after what was sent on it.
    case close(RouterConnection, RouterClosing)
    /// Tell whoever runs the router.
    case news(RouterNews)
}

extension RouterEffect {
    /// A request is answered with an error of the router's own, in words for people.
    static func refuse(
        _ kind: WAMPRequestKind, _ request: WAMPID, of participant: Participant, _ uri: String, _ words: String
    ) -> RouterEffect {
        .send(.error(kind, request: request, details: ValueMap(), uri: uri, WAMPArguments([.text(words)])), to: participant.connection)
    }
}

/// What a client shows to be let in.
public enum RouterCredentials: Hashable, Sendable {
    /// Its hello: the realm that it wants to join, and all that it said.
    case hello(realm: String, details: ValueMap)
    /// Its answer to the challenge.
    case answer(signature: String, extra: ValueMap)
}

extension RouterCredentials: CustomStringConvertible {
    /// What is shown, without anything that could be a secret.
    public var description: String {
        switch self {
        case .hello(let realm, _): "hello to \(realm)"
        case .answer: "answer to the challenge"
        }
    }
}

/// How a connection ends.
public enum RouterClosing: Hashable, Sendable {
    /// The session has ended as it should: WebSocket's code 1000.
    case goodbye
    /// The client broke the protocol: 1002.
    case violation
    /// The client does not take what it asked for: 1013.
    case overrun
    /// The router stops: 1001.
    case stopping
    /// The router fails at what the client asks for: 1011.
    case failure
    /// Without a close frame.
    case cut
}

/// What a router tells.
public enum RouterNews: Hashable, Sendable {
    /// A session has joined.
    case joined(WAMPID, realm: String, authID: String, authRole: String)
    /// A session has left: why, as a URI, or nil if its connection was lost.
    case left(WAMPID, realm: String, reason: String?)
    /// A client was not let in: why, as a URI.
    case refused(RouterConnection, reason: String)
    /// A client broke the protocol: how.
    case violation(RouterConnection, String)
    /// A client was cut off, for too much waited for it.
    case overrun(WAMPID, realm: String)
    /// The last session is gone after `stop`.
    case stopped
}

extension RouterNews {
    /// What is shown of a text in it that a client chose: on one line, and of 200 characters at most.
    package static func shown(_ text: String) -> String {
        // Cut by scalars first: one character may be as long as a message.
        let start = text.unicodeScalars.prefix(200)
        return WAMPWording.shown(String(start)) + (start.endIndex == text.unicodeScalars.endIndex ? "" : "…")
    }
}
