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
