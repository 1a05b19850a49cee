public import WebSocketCore

/// How a protocol ends a connection, and whether another follows.
public enum ConnectionEnd: Error, Hashable, Sendable {
    /// Cut at once, for the peer does not answer. Another follows.
    case cut(reason: String)
    /// Closed. The socket's `LossTable` says whether another follows.
    case close(CloseCode, reason: String)
    /// Closed. Another follows, after the pause at the earliest.
    case reconnect(after: Duration, CloseCode, reason: String)
    /// Closed, because the peer broke the protocol. Another follows after the socket's backoff, which grows each time.
    case reject(CloseCode, reason: String)
    /// Closed, and the socket with it: another connection would not help.
    case stop
}
