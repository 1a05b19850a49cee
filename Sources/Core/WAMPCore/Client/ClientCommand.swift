package import CodecCore

/// What an app wants of a client.
///
/// Every handle that a command brings for the first time ends with exactly one news: its last result, its acknowledgement, or its failure.
package enum ClientCommand: Sendable {
    // The session.

    /// The proof that ``ClientNews/challenged(_:method:extra:)`` asked for.
    case proven(ClientHandle, signature: String, extra: ValueMap)
    /// There is no proof: why, in words. The client aborts, and tries again with the next connection unless that is hopeless.
    case unproven(ClientHandle, String, isHopeless: Bool = false)
    /// The check of the router's own proof that ``ClientNews/welcomed(_:details:)`` asked for.
    case checked(ClientHandle, isGenuine: Bool)
    /// The app leaves for good; waiting requests end, the router is told goodbye.
    case leave(reason: String)
    /// The client no longer hands in the testaments of this scope when it joins again.
    case forgetTestaments(TestamentScope)

    // Calls.

    /// Calls a procedure; ends with ``ClientNews/result(_:details:_:isFinal:)`` that is final, or ``ClientNews/failed(_:_:)``.
    case call(ClientHandle, procedure: String, WAMPArguments, CallOptions)
    /// Calls a procedure with input that comes in parts; the first part is this.
    case callInParts(ClientHandle, procedure: String, WAMPArguments, CallOptions)
    /// The next part of the input.
    case part(ClientHandle, WAMPArguments, isLast: Bool)
    /// Whoever waits for the call's result, or for the publication, does not any more; without effect once it has ended.
    case cancel(ClientHandle)

    // Events.

    /// Publishes; ends with ``ClientNews/published(_:publication:)``, or ``ClientNews/failed(_:_:)``.
    case publish(ClientHandle, topic: String, WAMPArguments, PublishOptions)
    /// A listener wants the events of a topic; ends with ``ClientNews/failed(_:_:)``, or with ``unsubscribe(_:)``.
    case subscribe(ClientHandle, TopicKey, SubscribeOptions, patience: Duration?)
    /// A listener wants no more.
    case unsubscribe(ClientHandle)
    /// The same; ``ClientNews/unsubscribed(_:)`` says when the router has answered, if it has to be asked, or ``ClientNews/failed(_:_:)``
    /// that it has not answered in time. Without effect for who is no listener.
    case endSubscription(ClientHandle)

    // Procedures.

    /// Offers a procedure; ends with ``ClientNews/failed(_:_:)``, or with ``unregister(_:)``.
    case register(ClientHandle, procedure: String, RegisterOptions, patience: Duration?)
    /// Offers it no longer.
    case unregister(ClientHandle)
    /// A result of an invocation, or with `isFinal` false a part of it.
    case yield(ClientHandle, WAMPArguments, isFinal: Bool)
    /// An invocation failed.
    case fail(ClientHandle, uri: String, WAMPArguments)
}

/// A handle of the app's for a request or a listener: chosen by the shell below 2^63, never used twice, and unknown to the wire.
///
/// Those of challenges and invocations are chosen by the machine, from 2^63 on.
public struct ClientHandle: Hashable, Sendable {
    /// The number.
    public let number: UInt64

    /// A handle.
    public init(_ number: UInt64) { self.number = number }
}

/// The key under which subscriptions are shared: listeners of the same one need only one SUBSCRIBE.
public struct TopicKey: Hashable, Sendable {
    /// The topic, or the pattern.
    public var uri: String
    /// How it is compared.
    public var match: WAMPMatch

    /// A topic, or a pattern.
    public init(_ uri: String, match: WAMPMatch = .exact) { (self.uri, self.match) = (uri, match) }
}
