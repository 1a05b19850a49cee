public import WebSocketCore

/// Hears what happens to a ``WebSocket``, for code that is not async; see ``WebSocketDelegateAdapter``.
///
/// All methods do nothing by default. They are called on one queue, one at a time and in the order of the events; nothing is called
/// after ``webSocket(_:didClose:)``.
public protocol WebSocketDelegate: AnyObject {
    /// A connection is open; the first one, or one after a loss.
    func webSocket(_ socket: WebSocket, didOpen opening: Opening)
    /// The peer sent a message.
    func webSocket(_ socket: WebSocket, didReceive message: Message)
    /// The connection was lost, or an attempt at one failed: the next attempt starts after `delay`.
    func webSocket(_ socket: WebSocket, willReconnectAs attempt: Int, after delay: Duration, because cause: WebSocketError)
    /// It does something else now.
    func webSocket(_ socket: WebSocket, didChangeTo state: WebSocketState)
    /// Something else happened, of which most delegates need not know.
    func webSocket(_ socket: WebSocket, didMeet event: WebSocketEvent)
    /// Over for good.
    func webSocket(_ socket: WebSocket, didClose closure: Closure)
}

extension WebSocketDelegate {
    /// Does nothing.
    public func webSocket(_ socket: WebSocket, didOpen opening: Opening) {}
    /// Does nothing.
    public func webSocket(_ socket: WebSocket, didReceive message: Message) {}
    /// Does nothing.
    public func webSocket(_ socket: WebSocket, willReconnectAs attempt: Int, after delay: Duration, because cause: WebSocketError) {}
    /// Does nothing.
    public func webSocket(_ socket: WebSocket, didChangeTo state: WebSocketState) {}
    /// Does nothing.
    public func webSocket(_ socket: WebSocket, didMeet event: WebSocketEvent) {}
    /// Does nothing.
    public func webSocket(_ socket: WebSocket, didClose closure: Closure) {}

    func hear(of event: WebSocketEvent, from socket: WebSocket) {
        switch event {
        case .opened(let opening): webSocket(socket, didOpen: opening)
        case .message(let message): webSocket(socket, didReceive: message)
        case .reconnecting(let attempt, let delay, let cause):
            webSocket(socket, willReconnectAs: attempt, after: delay, because: cause)
        case .state(let state): webSocket(socket, didChangeTo: state)
        case .closed(let closure): webSocket(socket, didClose: closure)
        default: webSocket(socket, didMeet: event)
        }
    }
}
