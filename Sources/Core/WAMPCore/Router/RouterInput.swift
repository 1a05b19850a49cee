public import CodecCore

/// A connection to the router; the shell chooses the number and never reuses it.
package struct RouterConnection: Hashable, Sendable {
    /// The number.
    package let number: UInt64

    /// Creates a connection from its number.
    package init(_ number: UInt64) { self.number = number }
}

/// An input of a router.
package enum RouterInput: Sendable {
    /// A client has connected and must say hello in time; the meta API shows the details as the session's transport.
    ///
    /// Limits per address apply to the address; nil: there is none, as for a Unix domain socket.
    case opened(RouterConnection, transport: ValueMap, address: String? = nil)
    /// A client has sent a message.
    case received(RouterConnection, WAMPMessage)
    /// A client has sent a request that the operator does not allow: it is counted and answered with an ERROR of this URI.
    ///
    /// This applies to PUBLISH, SUBSCRIBE, REGISTER and CALL; any other message is handled as received.
    case forbidden(RouterConnection, WAMPMessage, reason: String)
    /// A client has sent something that is not a message.
    case undecodable(RouterConnection, WAMPFormatError)
    /// The connection is closed.
    case closed(RouterConnection)
    /// Too much waits to be sent to this client: the router disconnects it.
    case overrun(RouterConnection)
    /// An INVOCATION or a part of a RESULT could not be sent to this client: its call ends with an ERROR of this URI.
    case undelivered(RouterConnection, WAMPMessage, reason: String)
    /// The answer to `RouterEffect/examine(_:_:)`.
    case examined(RouterConnection, RouterVerdict)
    /// Ends a session, as `wamp.session.kill` does.
    case kill(session: WAMPID, reason: String, message: String?)
    /// Revokes a registration from its callees, or a subscription from its subscribers.
    case revoke(realm: String, id: WAMPID, reason: String)
    /// Shuts down the router: every session gets a goodbye, and has ``RouterPolicy/goodbyePatience`` to answer it.
    case stop
}

/// The decision on a client that wants to join.
package enum RouterVerdict: Hashable, Sendable {
    /// The client joins as this principal.
    case accepted(RouterPrincipal)
    /// The client must authenticate.
    case challenged(method: String, extra: ValueMap)
    /// The client is refused: the reason as a URI, and a text.
    case refused(reason: String, message: String)
}

/// The identity of a client that has joined.
public struct RouterPrincipal: Hashable, Sendable {
    /// The authid; nil: the router makes one up.
    public var authID: String?
    /// The authrole.
    public var authRole: String
    /// The authentication method.
    public var authMethod: String
    /// The authentication provider.
    public var authProvider: String
    /// Additional details for the welcome.
    public var authExtra: ValueMap

    /// Creates a principal.
    public init(
        authID: String? = nil, authRole: String = "anonymous", authMethod: String = "anonymous", authProvider: String = "static",
        authExtra: ValueMap = ValueMap()
    ) {
        (self.authID, self.authRole, self.authMethod) = (authID, authRole, authMethod)
        (self.authProvider, self.authExtra) = (authProvider, authExtra)
    }
}

extension RouterPrincipal {
    /// The first invisible character in the authid or authrole, such as `U+202E`; nil if there is none.
    var hiddenCharacter: String? { authID?.firstHidden ?? authRole.firstHidden }
}

extension RouterInput {
    /// The client that caused the input; nil: none.
    package var connection: RouterConnection? {
        switch self {
        case .opened(let connection, _, _), .received(let connection, _), .forbidden(let connection, _, _), .undecodable(let connection, _),
            .closed(let connection), .overrun(let connection), .undelivered(let connection, _, _), .examined(let connection, _):
            connection
        case .kill, .revoke, .stop: nil
        }
    }
}

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
