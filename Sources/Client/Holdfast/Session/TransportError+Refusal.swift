import SessionCore
import WebSocketRuntime

extension TransportError {
    /// What a sender is told whose message never left.
    ///
    /// - Parameter cause: Why there is no connection, if there is none.
    init(_ refusal: SendRefusal, cause: (any Error)?) {
        switch refusal {
        case .overflow: self.init(.queueFull, "the message was not sent: the queue is full", underlying: cause)
        case .dropped: self.init(.dropped, "the message was not sent: it gave way to others", underlying: cause)
        case .tooLarge: self.init(.tooLarge, "the message was not sent: it is larger than the queue", underlying: cause)
        case .timedOut: self.init(.timedOut, "the message was not sent: no connection took it in time", underlying: cause)
        case .disconnected: self.init(.disconnected, "the message was not sent: there is no connection", underlying: cause)
        case .withdrawn: self.init(.cancelled, "the message was not sent: its sender was cancelled")
        case .closed: self.init(.closed, "the message was not sent: the socket is closed")
        }
    }
}
