public import StreamCore

/// The messages of a ``WebSocket`` as values of one type; see ``WebSocket/stream(of:where:delivery:)``.
public struct WebSocketStream<Element: Sendable>: AsyncSequence, Sendable {
    /// How it can fail.
    public typealias Failure = WebSocketError
    let plan: StreamPlan<Element>

    /// What became of the values so far, for all loops over this sequence together.
    public var counts: DeliveryCounts { plan.ledger.counts }

    /// Starts to take values.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(plan) }

    /// Takes values one by one.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// How it can fail.
        public typealias Failure = WebSocketError
        private enum Source {
            case suspending(SuspendingConsumer<Element>)
            case values(StreamConsumer<Element, Element, Element>)
            case messages(StreamConsumer<Element, FieldMessage, FieldMessage>)
            case none(WebSocketError?)
        }
        private let source: Source

        init(_ plan: StreamPlan<Element>) {
            if plan.problem == nil, let buffering = plan.suspending {
                source = .suspending(SuspendingConsumer(plan, buffering))
            } else if plan.problem == nil, let values = plan.values() {
                source = .values(values)
            } else if plan.problem == nil, let messages = plan.messages() {
                source = .messages(messages)
            } else {
                source = .none(plan.problem)
            }
        }

        /// Waits for the next value; nil after an end in peace, or when the task is cancelled.
        public mutating func next() async throws(WebSocketError) -> Element? { try await next(isolation: nil) }

        /// Waits for the next value; nil after an end in peace, or when the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(WebSocketError) -> Element? {
            switch source {
            case .suspending(let consumer): return try await consumer.next()
            case .values(let consumer): return try await consumer.next()
            case .messages(let consumer):
                while let message = try await consumer.next() {
                    if let value = consumer.decode(message) { return value }
                }
                return nil
            case .none(let problem):
                if let problem { throw problem }
                return nil
            }
        }
    }
}
