import CodecCore
import StreamCore
import WebSocketCore

/// What makes the consumers of a typed stream.
struct StreamPlan<Value: Sendable>: Sendable {
    let socket: WebSocket
    let decoding: MessageDecoding<Value>
    let delivery: StreamDelivery<Value>
    let ledger: DeliveryLedger
    /// Nil if all messages concern it.
    private(set) var field: StreamFilterField?
    /// How it fails at once, for it asks for what cannot be.
    private(set) var problem: WebSocketError?
    private var format: PayloadPeek.Format?

    init(_ socket: WebSocket, _ decoding: MessageDecoding<Value>, _ filter: MessageFilter?, _ delivery: StreamDelivery<Value>) {
        (self.socket, self.decoding, self.delivery) = (socket, decoding, delivery)
        ledger = DeliveryLedger(within: socket.session.instruments.deliveries)
        format = PayloadPeek.Format(named: decoding.name)
        if let filter {
            if let format = filter.format ?? format {
                field = StreamFilterField(peek: PayloadPeek(format, path: filter.path), value: filter.value)
            } else {
                problem = cannotPeek
            }
        }
        if case .byField = delivery.keeping, format == nil { problem = cannotPeek }
    }

    private var cannotPeek: WebSocketError {
        WebSocketError(TransportError(.invalidConfiguration, "no field of a \(decoding.name) message can be read without decoding it"))
    }

    /// How many messages may wait for a consumer who reads and decodes by itself; nil if they are to be pushed.
    var suspending: EventBuffering? {
        if case .every(let capacity) = delivery.keeping, delivery.paces.isEmpty, field == nil { .suspend(capacity: capacity) } else { nil }
    }

    func values() -> StreamConsumer<Value, Value, Value>? {
        delivery.buffer().map { buffer in
            StreamConsumer(self, buffer.paced(by: delivery.paces), isTimed: !delivery.paces.isEmpty, ValueIntake.init)
        }
    }

    func batches(upTo limit: Int, within window: Duration) -> StreamConsumer<Value, Value, [Value]>? {
        delivery.buffer().map { buffer in
            StreamConsumer(
                self, buffer.batched(upTo: limit, within: window).paced(by: delivery.paces), isTimed: true, ValueIntake.init)
        }
    }

    func messages() -> StreamConsumer<Value, FieldMessage, FieldMessage>? {
        byField.map { peek, limit in
            StreamConsumer(self, fieldBuffer(limit).paced(by: delivery.paces), isTimed: !delivery.paces.isEmpty) {
                FieldIntake($0, peek, $1)
            }
        }
    }

    func messageBatches(upTo limit: Int, within window: Duration) -> StreamConsumer<Value, FieldMessage, [FieldMessage]>? {
        byField.map { peek, keys in
            StreamConsumer(self, fieldBuffer(keys).batched(upTo: limit, within: window).paced(by: delivery.paces), isTimed: true) {
                FieldIntake($0, peek, $1)
            }
        }
    }

    private var byField: (peek: PayloadPeek, limit: Int)? {
        guard case .byField(let path, let limit) = delivery.keeping, let format else { return nil }
        return (PayloadPeek(format, path: path), limit)
    }

    private func fieldBuffer(_ limit: Int) -> LatestByKey<FieldValue?, FieldMessage> { LatestByKey(limit: limit) { $0.field } }
}
