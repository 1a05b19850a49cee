public import SessionCore
public import WebSocketCore
import WebSocketRuntime

extension WebSocket {
    /// Sends a message, on the present connection if it takes it at once; otherwise ``WebSocketOptions/sending`` says what becomes of it.
    ///
    /// By default this returns when a connection took the message, and waits for one while there is none; under a policy that queues it
    /// also returns when the message has its place in the queue. Messages of one lane leave in the order in which they were
    /// sent. What a connection took and could not write before it was lost is not sent again: see ``SendReceipt/fate()``.
    ///
    /// - Parameters:
    ///   - message: What to send.
    ///   - lane: What waits in a higher lane goes first.
    ///   - timeout: How long it may wait for a connection to take it; nil: as long as the policy says.
    /// - Returns: What tells of the message's end; to be ignored by those who do not care.
    /// - Throws: ``WebSocketError`` if the message never left: ``TransportError/Code/timedOut`` if no connection took it in time,
    ///   ``TransportError/Code/closed`` once the socket is closed, ``TransportError/Code/cancelled`` if the task was cancelled while it
    ///   waited, and by policy ``TransportError/Code/disconnected``, ``TransportError/Code/queueFull``,
    ///   ``TransportError/Code/tooLarge`` or ``TransportError/Code/dropped``.
    @discardableResult
    public func send(_ message: Message, lane: Lane = .normal, timeout: Duration? = nil) async throws(WebSocketError) -> SendReceipt {
        if let receipt = session.desk.offer(message) { return receipt }
        return try await session.send(message, lane, patience: timeout)
    }

    /// How much waits to be sent because no connection takes it: not what a connection has taken and not yet written.
    public var sendQueueDepth: SendVolume { session.desk.depth }

    /// How many messages were dropped so far: each is told as ``WebSocketEvent/dropped(_:)``.
    ///
    /// Those are messages that gave way, or found no room, and those that were refused after `send` had returned. Of
    /// many that nobody has taken the older are told as ``WebSocketEvent/missed(_:)``.
    public var droppedSends: UInt64 { session.desk.dropped }
}
