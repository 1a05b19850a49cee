import NIOCore
import WebSocketCore

/// Where what a client is told leaves: a socket, or any transport.
///
/// Used on the event loop of the client's port.
protocol LinkExit: AnyObject {
    /// Hands a message over; false if there is no room, which the link is told of when there is.
    func send(_ message: WrittenMessage) -> Bool
    /// Closes after what was handed over; what has not left by the deadline is dropped.
    func close(_ frame: CloseFrame, by deadline: NIODeadline)
    /// Cuts the connection without a word.
    func abort()
    /// The client has joined: from now on its messages may be as long as any.
    func hasJoined()
    /// Takes nothing more from the client, until ``resume()``.
    func pause()
    /// Takes from the client again.
    func resume()
}
