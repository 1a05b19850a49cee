import SessionCore
import WebSocketCore
import WebSocketRuntime

/// Why something that the app wanted did not come about.
extension LiveSession {
    /// Why there is no connection; nil while there is one, and if the app wants none.
    var obstacle: WebSocketError? {
        if isClosed { return endCause }
        return connection == nil && !isStopping ? lastCause : nil
    }

    /// What is told to whoever wants something of a socket that is closed.
    var closedError: WebSocketError { WebSocketError(.socketClosed(obstacle)) }

    /// What is told to whoever waited for an answer.
    func unanswered(within time: Duration) -> WebSocketError { WebSocketError(.unanswered(within: time, obstacle)) }

    func failure(_ reason: SendRefusal) -> WebSocketError { WebSocketError(TransportError(reason, cause: obstacle)) }
}
