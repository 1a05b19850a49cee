public import WebSocketCore

/// What happens in the life of a ``WebSocket``, in order.
public enum WebSocketEvent: Sendable {
    /// A connection is open; the first one, or one after a loss.
    case opened(Opening)
    /// The peer sent a message.
    case message(Message)
    /// The connection was lost, or an attempt at one failed: the next attempt starts after `delay`.
    ///
    /// `attempt` counts from 1 and starts afresh once a connection has been stable; see `ReconnectPolicy`. Of several in a row that
    /// nobody has taken yet only the last is kept.
    case reconnecting(attempt: Int, delay: Duration, cause: WebSocketError)
    /// A message of ours was not sent, and nobody else tells: it gave way to others, or was overdue; see `SendPolicy`.
    case dropped(DroppedSend)
    /// It does something else now; as ``WebSocket/states``, in its place among the other events.
    ///
    /// Never ``WebSocketState/closed(_:)``, for which there is ``closed(_:)``.
    case state(WebSocketState)
    /// A typed stream could make nothing of a message, and went on with the next.
    case undecodable(UndecodableMessage)
    /// So many events were dropped here, for this consumer took them too slowly; see ``EventBuffering``.
    case missed(Int)
    /// Over for good.
    ///
    /// Always the last event, always there, and once for each consumer.
    case closed(Closure)
}
