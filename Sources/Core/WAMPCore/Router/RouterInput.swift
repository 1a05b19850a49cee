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
