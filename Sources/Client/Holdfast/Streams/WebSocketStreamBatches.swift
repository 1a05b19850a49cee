public import StreamCore

/// The messages of a ``WebSocket`` as values, several at a time; see ``WebSocket/batches(of:where:delivery:upTo:within:)``.
public struct WebSocketStreamBatches<Value: Sendable>: AsyncSequence, Sendable {
    /// Values that are delivered together; never none.
    public typealias Element = [Value]
    /// How it can fail.
    public typealias Failure = WebSocketError
    let plan: StreamPlan<Value>
    let limit: Int
    let window: Duration

    /// What became of the values so far, for all loops over this sequence together.
    public var counts: DeliveryCounts { plan.ledger.counts }

    /// Starts to take batches.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(plan, limit, window) }

    /// Takes batches one by one.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// How it can fail.
        public typealias Failure = WebSocketError
        private enum Source {
            case values(StreamConsumer<Value, Value, [Value]>)
            case messages(StreamConsumer<Value, FieldMessage, [FieldMessage]>)
            case none(WebSocketError?)
        }
        private let source: Source

        init(_ plan: StreamPlan<Value>, _ limit: Int, _ window: Duration) {
            if plan.problem == nil, let values = plan.batches(upTo: limit, within: window) {
                source = .values(values)
            } else if plan.problem == nil, let messages = plan.messageBatches(upTo: limit, within: window) {
                source = .messages(messages)
            } else {
                source = .none(plan.problem)
            }
        }

        /// Waits for the next batch; nil after an end in peace, or when the task is cancelled.
        public mutating func next() async throws(WebSocketError) -> [Value]? { try await next(isolation: nil) }

        /// Waits for the next batch; nil after an end in peace, or when the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(WebSocketError) -> [Value]? {
            switch source {
            case .values(let consumer): return try await consumer.next()
            case .messages(let consumer):
                while let messages = try await consumer.next() {
                    let values = messages.compactMap(consumer.decode)
                    if !values.isEmpty { return values }
                }
                return nil
            case .none(let problem):
                if let problem { throw problem }
                return nil
            }
        }
    }
}
