public import CodecCore

/// What a caller may ask for.
public struct CallOptions: Hashable, Sendable {
    /// How a call is cancelled.
    ///
    /// Source: WAMP, "Call Canceling".
    public enum CancelMode: String, Hashable, Sendable, CaseIterable {
        /// The caller no longer waits; the callee goes on.
        case skip
        /// The callee is interrupted, and the router waits for what it says; here the call has ended already.
        case kill
        /// The callee is interrupted, and nobody waits.
        case killNoWait = "killnowait"
    }

    /// How long the result may take, from the call on; nil: for ever.
    ///
    /// Always kept here; what is left of it is also forwarded if the dealer announces `call_timeout`.
    public var timeout: Duration?
    /// Whether parts of the result are wanted as they come.
    public var wantsProgress: Bool
    /// Whether the callee may learn who calls; nil: as the router likes.
    public var discloseMe: Bool?
    /// How the call is cancelled when its task is, or its time is over.
    public var cancelMode: CancelMode
    /// How long the call may wait until the session is joined; nil: not at all, it fails at once with ``ClientFailure/notJoined``.
    public var joinPatience: Duration?
    /// Other options, sent as they are.
    public var other: ValueMap
    /// What the call hands in, and what the client keeps once the router has it.
    package var testament: Testament?

    /// Options: without a timeout, waiting up to 10 s for the session, cancelled with `killnowait`.
    public init(
        timeout: Duration? = nil, wantsProgress: Bool = false, discloseMe: Bool? = nil, cancelMode: CancelMode = .killNoWait,
        joinPatience: Duration? = .seconds(10), other: ValueMap = ValueMap()
    ) {
        (self.timeout, self.wantsProgress, self.discloseMe) = (timeout, wantsProgress, discloseMe)
        (self.cancelMode, self.joinPatience, self.other) = (cancelMode, joinPatience, other)
    }
}
