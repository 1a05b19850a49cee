public import CodecCore

/// What an app is told.
package enum ClientNews: Hashable, Sendable {
    /// The router asks who the app is: answer with `proven` or `unproven` of the same handle.
    case challenged(ClientHandle, method: String, extra: ValueMap)
    /// The router has given its own proof in the details of its welcome: answer with `checked` of the same handle.
    ///
    /// Only after a ``challenged(_:method:extra:)`` whose method is `scram` or `wamp-scram`.
    case welcomed(ClientHandle, details: ValueMap)
    /// The client ends the connection.
    case ended(ClientEnding)
    /// The session has joined.
    case joined(JoinedSession)
    /// It is joined no longer: the connection is lost, or is about to be ended.
    case parted

    /// A call's result; it is over if that is final.
    case result(ClientHandle, details: ValueMap, WAMPArguments, isFinal: Bool)
    /// The router has taken an event; without an acknowledgement, it was sent, and the publication is nil.
    case published(ClientHandle, publication: WAMPID?)
    /// A testament that an earlier session had is not in this one.
    case testamentFailed(ClientFailure)
    /// A call, publication, listener or procedure has ended: it failed.
    case failed(ClientHandle, ClientFailure)

    /// A listener's subscription stands: for the first time, or again after a loss.
    case subscribed(ClientHandle, subscription: WAMPID)
    /// A listener that wanted no more, and to hear of it, is none any more: the router has answered, or others still want the topic, or
    /// there is no session.
    case unsubscribed(ClientHandle)
    /// An event for these listeners.
    case event([ClientHandle], subscription: WAMPID, publication: WAMPID, details: ValueMap, WAMPArguments)
    /// These listeners may have missed events.
    case gap([ClientHandle], ClientGap)

    /// A procedure is registered: for the first time, or again after a loss.
    case registered(ClientHandle, registration: WAMPID)
    /// A procedure is not called for now: the connection is lost, or the router took the registration away and it is tried again.
    case suspended(ClientHandle)
    /// A procedure is called; answer with `yield` or `fail` of the invocation's handle.
    case invoked(ClientHandle, procedure: ClientHandle, details: ValueMap, WAMPArguments)
    /// More input for an invocation; the last if it is final.
    case invokedFurther(ClientHandle, WAMPArguments, isFinal: Bool)
    /// The result of this invocation is no longer wanted; its handler still answers, and nothing of that is sent if the link is gone.
    case interrupted(ClientHandle, reason: String?)
}

/// Why events may be missing, and which.
public enum ClientGap: Hashable, Sendable {
    /// The connection was lost, and the subscription stands again: between the two nothing came.
    case reconnected
    /// The same, but the router's history fills the gap as far as it goes back: so many of the next events come from there.
    case filled(events: Int)
    /// The router took the subscription away, and gave it back.
    case revoked(reason: String?)
}

/// A session that has joined its realm.
public struct JoinedSession: Hashable, Sendable {
    /// Its id.
    public var id: WAMPID
    /// The realm.
    public var realm: String
    /// Who the router says the app is.
    public var authID: String?
    /// As what it joined.
    public var authRole: String?
    /// By which method.
    public var authMethod: String?
    /// What the router's broker can do, in its spelling.
    public var brokerFeatures: Set<String>
    /// What the router's dealer can do, in its spelling.
    public var dealerFeatures: Set<String>
    /// All that the router said.
    public var details: ValueMap

    /// A session.
    public init(
        id: WAMPID, realm: String, authID: String? = nil, authRole: String? = nil, authMethod: String? = nil,
        brokerFeatures: Set<String> = [], dealerFeatures: Set<String> = [], details: ValueMap = ValueMap()
    ) {
        (self.id, self.realm, self.authID, self.authRole, self.authMethod) = (id, realm, authID, authRole, authMethod)
        (self.brokerFeatures, self.dealerFeatures, self.details) = (brokerFeatures, dealerFeatures, details)
    }
}
