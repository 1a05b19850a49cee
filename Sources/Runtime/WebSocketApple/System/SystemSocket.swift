package import WebSocketCore

/// The part of the system's WebSocket that ``URLSessionTransport`` uses: `URLSessionWebSocketTask`, or a test's stand-in for it.
///
/// Closures are called on any thread.
package protocol SystemSocket: AnyObject, Sendable {
    /// Starts to connect; the events tell how it goes.
    func start(_ hear: @escaping @Sendable (SystemEvent) -> Void)

    /// Asks for one message; for the next it has to be asked again.
    func receive(_ take: @escaping @Sendable (Result<Message, SystemFailure>) -> Void)

    /// Sends a message; `done` is called when the system has taken it.
    func send(_ message: Message, _ done: @escaping @Sendable (SystemFailure?) -> Void)

    /// Sends a ping. The system has been seen to call `done` once, twice, and never.
    func ping(_ done: @escaping @Sendable (SystemFailure?) -> Void)

    /// Sends a close frame; nothing can be sent from then on. 1005 stands for a frame without a code.
    func close(code: Int, reason: [UInt8])

    /// Drops the link at once.
    func abort()
}

/// What the system tells of a WebSocket without being asked.
package enum SystemEvent: Sendable {
    /// The server has agreed.
    case opened(Agreement)
    /// The peer's close frame came; 0 and 1005 stand for one without a code.
    case closed(code: Int, reason: [UInt8])
    /// It is over: with nil in peace. Always the last event.
    case ended(SystemFailure?)
}
