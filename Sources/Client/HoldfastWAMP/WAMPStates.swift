/// How a ``WAMPClient`` stands with its router, the present state first; see ``WAMPClient/states``.
///
/// Whoever is slow misses states in between, never the last. The sequence keeps the client alive.
public struct WAMPStates: AsyncSequence, Sendable {
    /// How it stands.
    public typealias Element = WAMPState
    /// The sequence never fails.
    public typealias Failure = Never
    let client: WAMPClient

    /// Starts with the present state.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(client: client) }

    /// Takes states one by one.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// The sequence never fails.
        public typealias Failure = Never
        let client: WAMPClient
        private var seen: UInt64?
        private var isOver = false

        init(client: WAMPClient) { self.client = client }

        /// Waits for another state; nil after the last, or when the task is cancelled.
        public mutating func next() async -> WAMPState? { await next(isolation: nil) }

        /// Waits for another state; nil after the last, or when the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> WAMPState? {
            while !isOver, !Task.isCancelled {
                let version = client.shell.changes.version
                guard version == seen else {
                    seen = version
                    let state = client.state
                    if case .closed = state { isOver = true }
                    return state
                }
                await client.shell.changes.next(after: version)
            }
            return nil
        }
    }
}
