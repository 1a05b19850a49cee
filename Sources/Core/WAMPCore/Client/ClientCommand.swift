package import CodecCore

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
