public import WebSocketCore

/// How a protocol ends a connection, and whether the client connects again.
public enum ConnectionEnd: Error, Hashable, Sendable {
    /// Drops the connection at once because the peer does not answer. The client connects again.
    case cut(reason: String)
    /// Closes the connection. The socket's `LossTable` decides whether the client connects again.
    case close(CloseCode, reason: String)
    /// Closes the connection. The client connects again after the pause at the earliest.
    case reconnect(after: Duration, CloseCode, reason: String)
    /// Closes the connection because the peer broke the protocol. The client connects again after the socket's backoff, which grows each time.
    case reject(CloseCode, reason: String)
    /// Closes the connection and the socket, because another connection would not help.
    case stop
}
