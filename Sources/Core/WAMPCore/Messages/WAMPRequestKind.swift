/// The requests that an ERROR can answer, each with the number of its message.
public enum WAMPRequestKind: UInt64, Hashable, Sendable, CaseIterable {
    /// PUBLISH, when it asked for an acknowledgement.
    case publish = 16
    /// SUBSCRIBE.
    case subscribe = 32
    /// UNSUBSCRIBE.
    case unsubscribe = 34
    /// CALL.
    case call = 48
    /// REGISTER.
    case register = 64
    /// UNREGISTER.
    case unregister = 66
    /// INVOCATION: the callee's answer to the dealer.
    case invocation = 68
}
