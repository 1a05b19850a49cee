public import WebSocketCore

/// What happens in the life of a ``WebSocket``, in order.
public enum WebSocketEvent: Sendable {
    /// A connection is open; the first one, or one after a loss.
    case opened(WebSocketConnection)
    /// The peer sent a message.
    case message(Message)
    /// The connection was lost, or an attempt at one failed: the next attempt starts after `delay`.
    ///
    /// `attempt` counts from 1 and starts afresh once a connection has been stable; see `ReconnectPolicy`.
    case reconnecting(attempt: Int, delay: Duration, cause: WebSocketError)
    /// A message of ours was not sent, and nobody else tells: it gave way to others, or was overdue; see `SendPolicy`.
    case dropped(DroppedSend)
    /// Over for good: nil if this side closed, or the peer did with 1000; otherwise why no further attempt is made.
    ///
    /// Always the last event, and always there.
    case closed(WebSocketError?)
}
