public import WebSocketCore
import NIOConcurrencyHelpers
import WebSocketRuntime

/// The messages that a peer sends, in order; see ``WebSocketConnection/messages``.
public struct WebSocketMessages: AsyncSequence, Sendable {
    /// A whole message.
    public typealias Element = Message
    /// How it can fail.
    public typealias Failure = WebSocketError
    let transport: any MessageTransport
    let joiner: NIOLockedValueBox<MessageJoiner>

    /// Starts to take messages.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(transport: transport, joiner: joiner) }

    /// Takes messages one by one.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// How it can fail.
        public typealias Failure = WebSocketError
        let transport: any MessageTransport
        let joiner: NIOLockedValueBox<MessageJoiner>

        /// Waits for the next message; nil after a clean end.
        public mutating func next() async throws(WebSocketError) -> Message? { try await next(isolation: nil) }

        /// Waits for the next message; nil after a clean end.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(WebSocketError) -> Message? {
            do throws(TransportError) {
                while let received = try await transport.receive() {
                    if case .message(let message) = received { return message }
                    if let message = joiner.withLockedValue({ $0.join(received) }) { return message }
                }
                return nil
            } catch {
                throw WebSocketError(error)
            }
        }
    }
}
