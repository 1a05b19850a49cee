import CodecCore
import MachineCore
public import StreamCore
import WebSocketCore
import WebSocketRuntime

/// The messages of a ``WebSocket`` as values of one type; see ``WebSocket/stream(of:where:delivery:)``.
public struct WebSocketStream<Element: Sendable>: AsyncSequence, Sendable {
    /// The error after which the sequence ends.
    public typealias Failure = WebSocketError
    let plan: StreamPlan<Element>

    /// The counts of delivered and dropped values so far, for all loops over this sequence together.
    public var counts: DeliveryCounts { plan.totals.counts }

    /// Starts to take values.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(plan) }

    /// Iterates over the values.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// The error after which the sequence ends.
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

        /// Waits for the next value; nil after a normal end, or when the task is cancelled.
        public mutating func next() async throws(WebSocketError) -> Element? { try await next(isolation: nil) }

        /// Waits for the next value; nil after a normal end, or when the task is cancelled.
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

/// The messages of a ``WebSocket`` as batches of values; see ``WebSocket/batches(of:where:delivery:upTo:within:)``.
public struct WebSocketStreamBatches<Value: Sendable>: AsyncSequence, Sendable {
    /// Values that are delivered together; never empty.
    public typealias Element = [Value]
    /// The error after which the sequence ends.
    public typealias Failure = WebSocketError
    let plan: StreamPlan<Value>
    let limit: Int
    let window: Duration

    /// The counts of delivered and dropped values so far, for all loops over this sequence together.
    public var counts: DeliveryCounts { plan.totals.counts }

    /// Starts to take batches.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(plan, limit, window) }

    /// Iterates over the batches.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// The error after which the sequence ends.
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

        /// Waits for the next batch; nil after a normal end, or when the task is cancelled.
        public mutating func next() async throws(WebSocketError) -> [Value]? { try await next(isolation: nil) }

        /// Waits for the next batch; nil after a normal end, or when the task is cancelled.
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

/// Typed streams: messages as values, delivered as their consumer needs them; see <doc:Streams>.
///
/// Each loop over one of these sequences is its own consumer, as with ``WebSocket/events``. A message that cannot be decoded does
/// not end the sequence: the consumers of ``WebSocket/events``, if any, get ``WebSocketEvent/undecodable(_:)``. The sequences
/// end as ``WebSocket/messages`` does, after the waiting values were delivered. They fail at once with
/// ``TransportError/Code/invalidConfiguration`` if they need to peek into a format that Holdfast cannot read.
extension WebSocket {
    /// Returns the messages of the peer as values that ``WebSocketOptions/codec`` decodes.
    ///
    /// A stream of `String`, `Data` or `[UInt8]` contains the payloads unchanged.
    ///
    /// - Parameters:
    ///   - type: The type of the values.
    ///   - filter: The messages that the stream wants; nil: all.
    ///   - delivery: What happens to values that arrive while the consumer is busy.
    public func stream<Value: Decodable & Sendable>(
        of type: Value.Type, where filter: MessageFilter? = nil, delivery: StreamDelivery<Value> = .everyMessage()
    ) -> WebSocketStream<Value> {
        stream(by: MessageDecoding(codec), where: filter, delivery: delivery)
    }

    /// Returns the messages of the peer as values that a decoding returns; otherwise as ``stream(of:where:delivery:)``.
    ///
    /// - Parameters:
    ///   - decoding: Decodes the values.
    ///   - filter: The messages that the stream wants; nil: all.
    ///   - delivery: What happens to values that arrive while the consumer is busy.
    public func stream<Value: Sendable>(
        by decoding: MessageDecoding<Value>, where filter: MessageFilter? = nil, delivery: StreamDelivery<Value> = .everyMessage()
    ) -> WebSocketStream<Value> {
        WebSocketStream(plan: StreamPlan(self, decoding, filter, delivery))
    }

    /// Returns the messages of the peer as batches of values that ``WebSocketOptions/codec`` decodes.
    ///
    /// - Parameters:
    ///   - type: The type of the values.
    ///   - filter: The messages that the stream wants; nil: all.
    ///   - delivery: What happens to values that arrive while the consumer is busy.
    ///   - limit: The maximum number of values in a batch.
    ///   - window: How long a value waits at most for others to join its batch; by default not at all.
    public func batches<Value: Decodable & Sendable>(
        of type: Value.Type, where filter: MessageFilter? = nil, delivery: StreamDelivery<Value> = .everyMessage(capacity: 1024),
        upTo limit: Int = .max, within window: Duration = .zero
    ) -> WebSocketStreamBatches<Value> {
        batches(by: MessageDecoding(codec), where: filter, delivery: delivery, upTo: limit, within: window)
    }

    /// Returns the messages of the peer as batches of values that a decoding returns.
    ///
    /// - Parameters:
    ///   - decoding: Decodes the values.
    ///   - filter: The messages that the stream wants; nil: all.
    ///   - delivery: What happens to values that arrive while the consumer is busy.
    ///   - limit: The maximum number of values in a batch.
    ///   - window: How long a value waits at most for others to join its batch; by default not at all.
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

/// One consumer of a typed stream, from its creation to the release of this object.
final class StreamConsumer<Value: Sendable, Item: Sendable, Output: Sendable>: Sendable {
    /// The socket, kept alive because it produces the messages.
    private let socket: WebSocket
    private let decoding: MessageDecoding<Value>
    private let field: StreamFilterField?
    private let mailbox: StreamMailbox<Item, Output>
    private let consumer: EventHub.Share.Party
    private let totals: DeliveryTotals

    /// - Parameters:
    ///   - intake: Creates the intake that fills the mailbox.
    init(
        _ plan: StreamPlan<Value>, _ buffer: any DeliveryBuffer<Item, Output>, isTimed: Bool,
        _ intake: (EventHub.Share.Party, StreamMailbox<Item, Output>) -> any StreamIntake<Value>
    ) {
        (socket, decoding, field, totals) = (plan.socket, plan.decoding, plan.field, plan.totals)
        let mailbox = StreamMailbox(buffer, time: socket.session.time, isTimed: isTimed)
        self.mailbox = mailbox
        consumer = socket.hub.open(plan.decoding, for: plan.field?.pair) { intake($0, mailbox) }
        totals.join(mailbox)
    }

    deinit {
        socket.hub.leave(consumer, decoding, for: field?.pair)
        totals.leave(mailbox)
    }

    /// Waits for the next due value; nil after a normal end, or when the task is cancelled.
    func next() async throws(WebSocketError) -> Output? {
        try await mailbox.next { socket.hub.relieve(consumer) }
    }

    /// Decodes a message that waited undecoded; if that fails, reports it and returns nil.
    func decode(_ waiting: FieldMessage) -> Value? {
        do { return try waiting.bytes.withUnsafeBytes { try decoding.decode($0.bytes, waiting.kind) } } catch {
            socket.hub.report(.undecodable(UndecodableMessage(message: waiting.message, type: "\(Value.self)", error: error)))
            return nil
        }
    }
}

/// A field and the value that it must have.
struct StreamFilterField: Sendable {
    let peek: PayloadPeek
    let value: FieldValue

    var pair: StreamLane.Field { (peek, value) }
}

/// The consumer of a typed stream that loses nothing: it reads and decodes in its own task.
final class SuspendingConsumer<Value: Sendable>: Sendable {
    private let subscription: EventConsumer
    private let decoding: MessageDecoding<Value>
    private let totals: DeliveryTotals
    private let tally = DeliveryTally()

    init(_ plan: StreamPlan<Value>, _ buffering: EventBuffering) {
        subscription = EventConsumer(plan.socket, buffering, .messages, reports: true)
        (decoding, totals) = (plan.decoding, plan.totals)
        totals.join(tally)
    }

    deinit { totals.leave(tally) }

    /// Waits for the next value; nil after a normal end, or when the task is cancelled.
    func next() async throws(WebSocketError) -> Value? {
        // Checked at each call: a slow consumer of a fast peer never waits.
        while !Task.isCancelled {
            let (lent, turn) = subscription.borrow { decode($0, $1) }
            if let lent {
                if let value = lent { return value }
                continue
            }
            guard let message = try await subscription.nextMessage(after: turn) else { return nil }
            if let value = message.withBytes({ decode($0.bytes, message.kind) }) { return value }
        }
        return nil
    }

    /// Decodes a message; if that fails, reports it and returns nil.
    private func decode(_ payload: RawSpan, _ kind: MessageKind) -> Value? {
        do {
            let value = try decoding.decode(payload, kind)
            tally.add()
            return value
        } catch {
            let message = payload.withUnsafeBytes { Message(kind, checked: $0, isASCII: false) }
            subscription.socket.hub.report(.undecodable(UndecodableMessage(message: message, type: "\(Value.self)", error: error)))
            return nil
        }
    }
}
