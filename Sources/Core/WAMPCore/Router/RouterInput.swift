public import CodecCore

/// A connection to the router: chosen by the shell, never used twice.
public struct RouterConnection: Hashable, Sendable {
    /// The number.
    public let number: UInt64

    /// A connection.
    public init(_ number: UInt64) { self.number = number }
}

/// What can happen to a router.
public enum RouterInput: Sendable {
    /// A client has connected; it has to say hello in time. Details are shown by the meta API as the session's transport.
    ///
    /// The address is what limits per address count; nil: there is none, as of a Unix domain socket.
    case opened(RouterConnection, transport: ValueMap, address: String? = nil)
    /// A message came.
    case received(RouterConnection, WAMPMessage)
    /// A request came that whoever runs the router does not allow: it is counted, and answered with an ERROR of this URI.
    ///
    /// Only PUBLISH, SUBSCRIBE, REGISTER and CALL; any other message is taken as received.
    case forbidden(RouterConnection, WAMPMessage, reason: String)
    /// Something came that is no message.
    case undecodable(RouterConnection, WAMPFormatError)
    /// The connection is gone.
    case closed(RouterConnection)
    /// More waits to be sent to this client than it may: it is cut off.
    case overrun(RouterConnection)
    /// An INVOCATION, or a part of a RESULT, could not be sent to this client: its call ends with an ERROR of this URI.
    case undelivered(RouterConnection, WAMPMessage, reason: String)
    /// What ``RouterEffect/examine(_:_:)`` asked for.
    case examined(RouterConnection, RouterVerdict)
    /// Ends a session, as `wamp.session.kill` does.
    case kill(session: WAMPID, reason: String, message: String?)
    /// Takes a registration away from its callees, or a subscription from its subscribers.
    case revoke(realm: String, id: WAMPID, reason: String)
    /// The router stops: every session is told goodbye, and answers or not within ``RouterPolicy/goodbyePatience``.
    case stop
}

/// What becomes of a client that wants to join.
public enum RouterVerdict: Hashable, Sendable {
    /// It joins as this.
    case accepted(RouterPrincipal)
    /// It has to prove who it is.
    case challenged(method: String, extra: ValueMap)
    /// It may not: why, as a URI and in words.
    case refused(reason: String, message: String)
}

/// Who has joined.
public struct RouterPrincipal: Hashable, Sendable {
    /// Who it is; nil: a name is made up.
    public var authID: String?
    /// As what.
    public var authRole: String
    /// By which method.
    public var authMethod: String
    /// Who vouches for it.
    public var authProvider: String
    /// More that the welcome tells the client.
    public var authExtra: ValueMap

    /// Somebody.
    public init(
        authID: String? = nil, authRole: String = "anonymous", authMethod: String = "anonymous", authProvider: String = "static",
        authExtra: ValueMap = ValueMap()
    ) {
        (self.authID, self.authRole, self.authMethod) = (authID, authRole, authMethod)
        (self.authProvider, self.authExtra) = (authProvider, authExtra)
    }
}

extension RouterPrincipal {
    /// A character that nobody sees in who it is or as what, such as `U+202E`; nil if all are seen.
    var hiddenCharacter: String? { authID?.firstHidden ?? authRole.firstHidden }
}

extension RouterInput {
    /// The client whose doing it is; nil: nobody's.
    package var connection: RouterConnection? {
        switch self {
        case .opened(let connection, _, _), .received(let connection, _), .forbidden(let connection, _, _), .undecodable(let connection, _),
            .closed(let connection), .overrun(let connection), .undelivered(let connection, _, _), .examined(let connection, _):
            connection
        case .kill, .revoke, .stop: nil
        }
    }
}
