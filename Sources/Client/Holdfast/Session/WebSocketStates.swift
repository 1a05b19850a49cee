/// The states of a ``WebSocket``, the present one first; see ``WebSocket/states``.
///
/// A consumer that is slow misses states in between, and never the last.
public struct WebSocketStates: AsyncSequence, Sendable {
    /// What a socket is doing.
    public typealias Element = WebSocketState
    /// The sequence never fails.
    public typealias Failure = Never
    let socket: WebSocket

    /// Starts with the present state.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(socket: socket) }

    /// Takes states one by one.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// The sequence never fails.
        public typealias Failure = Never
        let socket: WebSocket
        private var seen: UInt64?
        private var isOver = false

        init(socket: WebSocket) { self.socket = socket }

        /// Waits for the next state; nil after ``WebSocketState/closed(_:)``, or when the task is cancelled.
        public mutating func next() async -> WebSocketState? {
            let session = socket.session
            while !isOver, !Task.isCancelled {
                let change = session.changes.version
                let (state, version) = session.latest
                guard version == seen else {
                    seen = version
                    if case .closed = state { isOver = true }
                    return state
                }
                await session.changes.next(after: change)
            }
            return nil
        }
    }
}
