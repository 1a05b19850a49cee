/// Why a message never left.
public enum SendRefusal: Hashable, Sendable {
    /// The queue had no room for it.
    case overflow
    /// It waited, and was pushed out by a message for which there was no room else.
    case dropped
    /// The queue could not hold it even alone, and it could not go out at once.
    case tooLarge
    /// Its caller's patience, or the policy's, was over before a connection took it.
    case timedOut
    /// There is no connection, and the policy says not to wait for one.
    case disconnected
    /// Its caller wanted it no more.
    case withdrawn
    /// The session is closed.
    case closed
}
