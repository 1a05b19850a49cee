public import WebSocketCore

/// The messages of a ``WebSocket``, whichever connection they come over; see ``WebSocket/messages``.
public struct WebSocketInbox: AsyncSequence, Sendable {
    /// A whole message.
    public typealias Element = Message
    /// How it can fail.
    public typealias Failure = WebSocketError
    let socket: WebSocket
    let buffering: EventBuffering

    /// Starts to take messages.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(subscription: Subscription(socket, buffering, .messages)) }

    /// Takes messages one by one.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// How it can fail.
        public typealias Failure = WebSocketError
        let subscription: Subscription

        /// Waits for the next message; nil after an end in peace, or when the task is cancelled.
        public mutating func next() async throws(WebSocketError) -> Message? { try await next(isolation: nil) }

        /// Waits for the next message; nil after an end in peace, or when the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(WebSocketError) -> Message? {
            try await subscription.nextMessage()
        }
    }
}
