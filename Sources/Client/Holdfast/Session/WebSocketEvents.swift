import WebSocketCore
import WebSocketRuntime

/// The events of a ``WebSocket``; see ``WebSocket/events``.
public struct WebSocketEvents: AsyncSequence, Sendable {
    /// Something that happened.
    public typealias Element = WebSocketEvent
    /// The sequence never fails: failures are events.
    public typealias Failure = Never
    let socket: WebSocket

    /// Starts to take events.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(socket: socket) }

    /// Takes events one by one.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// The sequence never fails.
        public typealias Failure = Never
        let socket: WebSocket
        /// The connection whose messages come next, so that a message costs no turn of the session.
        private var current: (connection: WebSocketConnection, messages: MessageTaker)?

        init(socket: WebSocket) { self.socket = socket }

        /// Waits for the next event; nil after the last, or when the task is cancelled.
        public mutating func next() async -> WebSocketEvent? { await next(isolation: nil) }

        /// Waits for the next event; nil after the last, or when the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> WebSocketEvent? {
            while true {
                guard let (connection, messages) = current else {
                    switch await socket.session.nextSource() {
                    case .event(let event): return event
                    case .connection(let next): current = (next, MessageTaker(next))
                    case nil: return nil
                    }
                    continue
                }
                do throws(TransportError) {
                    if let message = try await messages.next() { return .message(message) }
                } catch {
                    // How a connection ended is the session's to tell; that this task was cancelled is not an end.
                    if error.code == .cancelled { return nil }
                }
                current = nil
                await socket.session.drained(connection)
            }
        }
    }
}
