import WebSocketCore

/// The events of a ``WebSocket``; see ``WebSocket/events(buffering:)``.
public struct WebSocketEvents: AsyncSequence, Sendable {
    /// Something that happened.
    public typealias Element = WebSocketEvent
    /// The sequence never fails: failures are events.
    public typealias Failure = Never
    let socket: WebSocket
    let buffering: EventBuffering

    /// Starts to take events.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(subscription: Subscription(socket, buffering, .everything)) }

    /// Takes events one by one.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// The sequence never fails.
        public typealias Failure = Never
        let subscription: Subscription

        /// Waits for the next event; nil after the last, or when the task is cancelled.
        public mutating func next() async -> WebSocketEvent? { await next(isolation: nil) }

        /// Waits for the next event; nil after the last, or when the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> WebSocketEvent? {
            await subscription.next()
        }
    }
}
