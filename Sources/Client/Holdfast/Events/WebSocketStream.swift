/// The messages of a ``WebSocket`` as values of one type; see ``WebSocket/stream(of:buffering:)``.
public struct WebSocketStream<Element: Decodable & Sendable>: AsyncSequence, Sendable {
    /// How it can fail.
    public typealias Failure = WebSocketError
    let socket: WebSocket
    let buffering: EventBuffering

    /// Starts to take values.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(subscription: Subscription(socket, buffering, .messages, reports: true))
    }

    /// Takes values one by one.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// How it can fail.
        public typealias Failure = WebSocketError
        let subscription: Subscription

        /// Waits for the next value; nil after an end in peace, or when the task is cancelled.
        public mutating func next() async throws(WebSocketError) -> Element? { try await next(isolation: nil) }

        /// Waits for the next value; nil after an end in peace, or when the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(WebSocketError) -> Element? {
            let socket = subscription.socket
            while let message = try await subscription.nextMessage() {
                do { return try socket.codec.decode(Element.self, from: message) } catch {
                    socket.hub.report(.undecodable(UndecodableMessage(message: message, type: "\(Element.self)", error: error)))
                    if Task.isCancelled { return nil }  // Or it went on for as long as there is something to read.
                }
            }
            return nil
        }
    }
}
