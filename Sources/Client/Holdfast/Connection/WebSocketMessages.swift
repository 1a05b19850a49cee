public import WebSocketCore
import WebSocketRuntime

/// The messages that a peer sends, in order; see ``WebSocketConnection/messages``.
public struct WebSocketMessages: AsyncSequence, Sendable {
    /// A whole message.
    public typealias Element = Message
    /// How it can fail.
    public typealias Failure = WebSocketError
    let connection: WebSocketConnection

    /// Starts to take messages.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(taker: MessageTaker(connection)) }

    /// Takes messages one by one.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// How it can fail.
        public typealias Failure = WebSocketError
        @usableFromInline let taker: MessageTaker

        /// Waits for the next message; nil after a clean end.
        public mutating func next() async throws(WebSocketError) -> Message? { try await next(isolation: nil) }

        /// Waits for the next message; nil after a clean end.
        @inlinable
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(WebSocketError) -> Message? {
            if let message = taker.ready() { return message }
            return try await taker.wait()
        }
    }
}
