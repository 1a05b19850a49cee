public import CodecCore

/// News from the client machine to the app.
package enum ClientNews: Hashable, Sendable {
    /// The router asks for authentication: the app answers with `proven` or `unproven` for the same handle.
    case challenged(ClientHandle, method: String, extra: ValueMap)
    /// The router has sent its own proof in the details of its welcome: the app answers with `checked` for the same handle.
    ///
    /// It comes only after a ``challenged(_:method:extra:)`` whose method is `scram` or `wamp-scram`.
    case welcomed(ClientHandle, details: ValueMap)
    /// The client ends the connection.
    case ended(ClientEnding)
    /// The session has joined.
    case joined(JoinedSession)
    /// The session is no longer joined: the connection is lost, or is about to end.
    case parted

    /// A result of a call; if it is final, the call has ended.
    case result(ClientHandle, details: ValueMap, WAMPArguments, isFinal: Bool)
    /// The router has accepted an event; without an acknowledgement the event was sent, and the publication is nil.
    case published(ClientHandle, publication: WAMPID?)
    /// The current session lacks a testament that an earlier session had.
    case testamentFailed(ClientFailure)
    /// A call, publication, listener or procedure has failed.
    case failed(ClientHandle, ClientFailure)

    /// A listener's subscription exists, for the first time or again after a loss.
    case subscribed(ClientHandle, subscription: WAMPID)
    /// A listener has ended and its caller wanted to know when.
    ///
    /// The router has answered, or other listeners still need the topic, or there is no session.
    case unsubscribed(ClientHandle)
    /// An event for these listeners.
    case event([ClientHandle], subscription: WAMPID, publication: WAMPID, details: ValueMap, WAMPArguments)
    /// These listeners may have missed events.
    case gap([ClientHandle], ClientGap)

    /// A procedure is registered: for the first time, or again after a loss.
    case registered(ClientHandle, registration: WAMPID)
    /// A procedure cannot be called for now: the connection is lost, or the router revoked the registration and the client repeats it.
    case suspended(ClientHandle)
    /// A procedure is called; the app answers with `yield` or `fail` for the invocation's handle.
    case invoked(ClientHandle, procedure: ClientHandle, details: ValueMap, WAMPArguments)
    /// More input for an invocation; the last one if `isFinal`.
    case invokedFurther(ClientHandle, WAMPArguments, isFinal: Bool)
    /// The caller no longer wants the result of this invocation.
    ///
    /// Its handler still answers, but the client sends nothing of that if the connection is lost.
    case interrupted(ClientHandle, reason: String?)
}

/// Why events may be missing, and which ones.
public enum ClientGap: Hashable, Sendable {
    /// The connection was lost and the subscription exists again; events between the two are missing.
    case reconnected
    /// The same, but the router's history fills the gap as far as it goes back: this number of the next events comes from it.
    case filled(events: Int)
    /// The router revoked the subscription and then restored it.
    case revoked(reason: String?)
}

/// A session that has joined its realm.
public struct JoinedSession: Hashable, Sendable {
    /// The ID of the session.
    public var id: WAMPID
    /// The realm.
    public var realm: String
    /// The authid that the router assigned.
    public var authID: String?
    /// The authrole that the router assigned.
    public var authRole: String?
    /// The authentication method.
    public var authMethod: String?
    /// The features of the router's broker, by their names in WAMP.
    public var brokerFeatures: Set<String>
    /// The features of the router's dealer, by their names in WAMP.
    public var dealerFeatures: Set<String>
    /// All details of the welcome.
    public var details: ValueMap

    /// Creates a joined session.
    public init(
        id: WAMPID, realm: String, authID: String? = nil, authRole: String? = nil, authMethod: String? = nil,
        brokerFeatures: Set<String> = [], dealerFeatures: Set<String> = [], details: ValueMap = ValueMap()
    ) {
        (self.id, self.realm, self.authID, self.authRole, self.authMethod) = (id, realm, authID, authRole, authMethod)
        (self.brokerFeatures, self.dealerFeatures, self.details) = (brokerFeatures, dealerFeatures, details)
    }
}
