public import CodecCore

/// A command from the app to the client machine.
///
/// For each handle that a command uses for the first time, exactly one final event follows: the last result, the acknowledgement, or the
/// failure.
package enum ClientCommand: Sendable {
    // The session.

    /// The signature that ``ClientNews/challenged(_:method:extra:)`` asked for.
    case proven(ClientHandle, signature: String, extra: ValueMap)
    /// The app cannot authenticate: the reason as text. The client aborts, and tries again with the next connection unless `isHopeless`.
    case unproven(ClientHandle, String, isHopeless: Bool = false)
    /// The result of the check of the router's proof that ``ClientNews/welcomed(_:details:)`` asked for.
    case checked(ClientHandle, isGenuine: Bool)
    /// Leaves for good: the client ends waiting requests and says goodbye to the router.
    case leave(reason: String)
    /// Stops setting the testaments of this scope after each join.
    case forgetTestaments(TestamentScope)

    // Calls.

    /// Calls a procedure; ends with a final ``ClientNews/result(_:details:_:isFinal:)``, or with ``ClientNews/failed(_:_:)``.
    case call(ClientHandle, procedure: String, WAMPArguments, CallOptions)
    /// Calls a procedure with progressive input; these arguments are the first part.
    case callInParts(ClientHandle, procedure: String, WAMPArguments, CallOptions)
    /// The next part of the input.
    case part(ClientHandle, WAMPArguments, isLast: Bool)
    /// Cancels a call or publication; without effect once it has ended.
    case cancel(ClientHandle)

    // Events.

    /// Publishes; ends with ``ClientNews/published(_:publication:)``, or ``ClientNews/failed(_:_:)``.
    case publish(ClientHandle, topic: String, WAMPArguments, PublishOptions)
    /// Adds a listener for the events of a topic; ends with ``ClientNews/failed(_:_:)``, or with ``unsubscribe(_:)``.
    case subscribe(ClientHandle, TopicKey, SubscribeOptions, patience: Duration?)
    /// Ends a listener.
    case unsubscribe(ClientHandle)
    /// Ends a listener and reports when that is done; without effect if there is no such listener.
    ///
    /// ``ClientNews/unsubscribed(_:)`` follows when the router has answered, if it must be asked, or ``ClientNews/failed(_:_:)`` if it
    /// does not answer in time.
    case endSubscription(ClientHandle)

    // Procedures.

    /// Registers a procedure; ends with ``ClientNews/failed(_:_:)``, or with ``unregister(_:)``.
    case register(ClientHandle, procedure: String, RegisterOptions, patience: Duration?)
    /// Ends a registration.
    case unregister(ClientHandle)
    /// Returns a result of an invocation; with `isFinal` false, a part of it.
    case yield(ClientHandle, WAMPArguments, isFinal: Bool)
    /// Reports that an invocation failed.
    case fail(ClientHandle, uri: String, WAMPArguments)
}

/// A handle for a request or a listener of the app; it is never reused and never sent to the router.
///
/// The shell chooses handles below 2^63. The machine chooses the handles of challenges and invocations, from 2^63 on.
public struct ClientHandle: Hashable, Sendable {
    /// The number.
    public let number: UInt64

    /// Creates a handle.
    public init(_ number: UInt64) { self.number = number }
}

/// The key of a shared subscription: listeners with the same key need only one SUBSCRIBE.
public struct TopicKey: Hashable, Sendable {
    /// The topic, or the pattern.
    public var uri: String
    /// How the URI is matched.
    public var match: WAMPMatch

    /// Creates a key for a topic or a pattern.
    public init(_ uri: String, match: WAMPMatch = .exact) { (self.uri, self.match) = (uri, match) }
}

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

/// The client's session state for the app, derived from the machine's events and the state of the socket.
///
/// Causes are errors of the shell, which knows more about the socket than the machine.
package struct ClientStatus<Cause: Sendable>: Sendable {
    /// The state of a client.
    package enum State: Sendable {
        /// The client is connecting, or the session is joining.
        case connecting
        /// The session has joined.
        case joined(JoinedSession)
        /// There is no connection, and the client will retry by itself; the cause, if it is known.
        case waiting(Cause?)
        /// The client has ended for good, for this cause.
        case closed(Cause)
    }

    /// The session, if it has joined.
    package private(set) var session: JoinedSession?
    /// Why there is no session at present.
    package private(set) var cause: Cause?
    /// Why the client has ended for good; the socket may still be closing.
    package private(set) var ending: Cause?
    /// Why there is no session, at present or for good.
    package var reason: Cause? { cause ?? ending }
    private var isConnected = false
    private var isWaiting = false
    /// Whether the machine ended the connection for `cause`; the socket's cause would only say that it was closed.
    private var isDropped = false

    /// Creates the state of a client without a connection.
    package init() {}

    package var state: State {
        if let ending { return .closed(ending) }
        if let session { return .joined(session) }
        return isWaiting ? .waiting(cause) : .connecting
    }

    /// Records a new connection.
    package mutating func open() { (isConnected, isWaiting, cause, isDropped) = (true, false, nil, false) }

    package mutating func join(_ session: JoinedSession) { (self.session, cause) = (session, nil) }

    package mutating func part() { session = nil }

    /// Records that the machine ends the connection.
    ///
    /// - Parameters:
    ///   - cause: Why; nil: the app left.
    ///   - ending: The same cause, if another connection cannot help.
    package mutating func drop(because cause: Cause?, ending: Cause?) {
        if let cause { (self.cause, isDropped) = (cause, true) }
        (session, isWaiting) = (nil, true)
        end(because: ending)
    }

    /// Records that the connection is lost; may be called without a connection.
    ///
    /// - Parameters:
    ///   - cause: Why, as far as the socket has reported.
    ///   - isRetrying: Whether the socket has planned its next attempt.
    /// - Returns: Whether there was a connection.
    package mutating func lose(because cause: Cause?, isRetrying: Bool) -> Bool {
        if let cause, !isDropped { self.cause = cause }
        if isRetrying { (isDropped, isWaiting) = (false, true) }
        guard isConnected else { return false }
        (isConnected, session, isWaiting) = (false, nil, true)
        return true
    }

    /// Records that the client has ended for good; the first cause counts, and nil is ignored.
    package mutating func end(because ending: Cause?) { self.ending = self.ending ?? ending }
}
