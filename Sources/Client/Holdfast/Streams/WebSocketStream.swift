import MachineCore
public import StreamCore
import WebSocketRuntime

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

/// Messages as values, delivered as their consumer needs them; see <doc:Streams>.
///
/// Each loop over one of these sequences is a consumer of its own, as of ``WebSocket/events``. A message that is no such value does
/// not end it: it is told to all who follow ``WebSocket/events`` as ``WebSocketEvent/undecodable(_:)``; to nobody, if nobody does. The
/// sequences end as ``WebSocket/messages`` does, after what still waits was delivered. They fail at once with
/// ``TransportError/Code/invalidConfiguration`` if they are to look into a format that nobody here can.
extension WebSocket {
    /// What the peer sends, as values that ``WebSocketOptions/codec`` makes of the messages.
    ///
    /// A stream of `String`, `Data` or `[UInt8]` has the payloads as they are.
    ///
    /// - Parameters:
    ///   - type: What the messages are.
    ///   - filter: Which messages concern it; nil: all.
    ///   - delivery: What becomes of values that come while the consumer is busy.
    public func stream<Value: Decodable & Sendable>(
        of type: Value.Type, where filter: MessageFilter? = nil, delivery: StreamDelivery<Value> = .everyMessage()
    ) -> WebSocketStream<Value> {
        stream(by: MessageDecoding(codec), where: filter, delivery: delivery)
    }

    /// What the peer sends, as values that a decoding makes of the messages; otherwise as ``stream(of:where:delivery:)``.
    ///
    /// - Parameters:
    ///   - decoding: What makes the values.
    ///   - filter: Which messages concern it; nil: all.
    ///   - delivery: What becomes of values that come while the consumer is busy.
    public func stream<Value: Sendable>(
        by decoding: MessageDecoding<Value>, where filter: MessageFilter? = nil, delivery: StreamDelivery<Value> = .everyMessage()
    ) -> WebSocketStream<Value> {
        WebSocketStream(plan: StreamPlan(self, decoding, filter, delivery))
    }

    /// What the peer sends, as values that ``WebSocketOptions/codec`` makes of the messages, several at a time.
    ///
    /// - Parameters:
    ///   - type: What the messages are.
    ///   - filter: Which messages concern it; nil: all.
    ///   - delivery: What becomes of values that come while the consumer is busy.
    ///   - limit: How many values a batch has at most.
    ///   - window: How long a value waits at most for others to join it; by default for none.
    public func batches<Value: Decodable & Sendable>(
        of type: Value.Type, where filter: MessageFilter? = nil, delivery: StreamDelivery<Value> = .everyMessage(capacity: 1024),
        upTo limit: Int = .max, within window: Duration = .zero
    ) -> WebSocketStreamBatches<Value> {
        batches(by: MessageDecoding(codec), where: filter, delivery: delivery, upTo: limit, within: window)
    }

    /// What the peer sends, as values that a decoding makes of the messages, several at a time.
    ///
    /// - Parameters:
    ///   - decoding: What makes the values.
    ///   - filter: Which messages concern it; nil: all.
    ///   - delivery: What becomes of values that come while the consumer is busy.
    ///   - limit: How many values a batch has at most.
    ///   - window: How long a value waits at most for others to join it; by default for none.
    public func batches<Value: Sendable>(
        by decoding: MessageDecoding<Value>, where filter: MessageFilter? = nil,
        delivery: StreamDelivery<Value> = .everyMessage(capacity: 1024), upTo limit: Int = .max, within window: Duration = .zero
    ) -> WebSocketStreamBatches<Value> {
        WebSocketStreamBatches(plan: StreamPlan(self, decoding, filter, delivery), limit: limit, window: window)
    }
}

extension LiveSession {
    /// The socket's clock.
    nonisolated var time: LinkTime { LinkTime(now: { [instruments] in Moment(instruments.now()) }, pause: sleep) }
}
