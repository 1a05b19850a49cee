/// The states of a client, the present one first: of a socket, of rooms, of WAMP, or of a protocol of your own.
///
/// A consumer that is slow misses states in between, and never the last. The sequence keeps its client alive.
public struct StateSequence<State: Sendable>: AsyncSequence, Sendable {
    /// What the client is doing.
    public typealias Element = State
    /// The sequence never fails.
    public typealias Failure = Never
    package typealias Look = @Sendable () -> (state: State, version: UInt64, isLast: Bool)
    private let changes: Changes
    private let look: Look

    /// - Parameters:
    ///   - changes: Announced after each change.
    ///   - look: The present state, and a number that is another one for each. Holds the client.
    package init(_ changes: Changes, _ look: @escaping Look) { (self.changes, self.look) = (changes, look) }

    /// Starts with the present state.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(changes: changes, look: look) }

    /// Takes states one by one.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// The sequence never fails.
        public typealias Failure = Never
        let changes: Changes
        let look: Look
        private var seen: UInt64?
        private var isOver = false

        init(changes: Changes, look: @escaping Look) { (self.changes, self.look) = (changes, look) }

        /// Waits for the next state; nil after the last, or when the task is cancelled.
        public mutating func next() async -> State? { await next(isolation: nil) }

        /// Waits for the next state; nil after the last, or when the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> State? {
            while !isOver, !Task.isCancelled {
                let change = changes.version
                let (state, version, isLast) = look()
                guard version == seen else {
                    (seen, isOver) = (version, isLast)
                    return state
                }
                await changes.next(after: change)
            }
            return nil
        }
    }
}
