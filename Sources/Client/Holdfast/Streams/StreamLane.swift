import CodecCore
import StreamCore
import WebSocketCore
import WebSocketRuntime

/// All consumers that want the messages as values of one type; decodes a message once for them, and only if one of them wants it.
protocol StreamLane: AnyObject, Sendable {
    /// A field and the value that it must have.
    typealias Field = (peek: PayloadPeek, value: FieldValue)
    var key: StreamLaneKey { get }
    /// Whether there is no consumer.
    var isEmpty: Bool { get }

    /// Gives a message to the consumers that want it.
    func offer(_ payload: RawSpan, _ kind: MessageKind, into outcome: inout StreamOffer)
    func remove(_ consumer: EventHub.Share.Party, from field: Field?)
    func finish(_ end: Result<Void, WebSocketError>)
}

/// The result of offering a message to typed streams.
struct StreamOffer {
    /// The consumers that are full; reading pauses until they have taken some values.
    var held: [EventHub.Share.Party] = []
    /// The types that the message could not be decoded to, and the errors of the codec.
    var failures: [(type: String, error: any Error)] = []
}

/// The key of a lane: the type of the values and the name of the decoding.
struct StreamLaneKey: Hashable, Sendable {
    let type: ObjectIdentifier
    let name: String

    init<Value>(_ decoding: MessageDecoding<Value>) { (type, name) = (ObjectIdentifier(Value.self), decoding.name) }
}

/// The lane of one type.
///
/// Consumers that want one value of a field are looked up by that value, so the cost of a message does not depend on their number.
final class TypedStreamLane<Value: Sendable>: StreamLane {
    typealias Intake = any StreamIntake<Value>
    private struct Routes {
        /// The consumers that want all messages.
        var all: [Intake] = []
        var byField: [(peek: PayloadPeek, table: [FieldValue: [Intake]])] = []

        var everybody: [Intake] { all + byField.flatMap { $0.table.values.joined() } }
    }
    private let decoding: MessageDecoding<Value>
    private let routes = LockedValue(Routes())

    init(_ decoding: MessageDecoding<Value>) { self.decoding = decoding }

    var key: StreamLaneKey { StreamLaneKey(decoding) }

    var isEmpty: Bool { routes.withLockedValue { $0.all.isEmpty && $0.byField.isEmpty } }

    /// Adds a consumer for the messages with this value in a field, or for all messages.
    func add(_ intake: Intake, for field: Field?) {
        routes.withLockedValue { routes in
            guard let field else { return routes.all.append(intake) }
            if let index = routes.byField.firstIndex(where: { $0.peek == field.peek }) {
                routes.byField[index].table[field.value, default: []].append(intake)
            } else {
                routes.byField.append((field.peek, [field.value: [intake]]))
            }
        }
    }

    func remove(_ consumer: EventHub.Share.Party, from field: Field?) {
        routes.withLockedValue { routes in
            guard let field else { return routes.all.removeAll { $0.consumer == consumer } }
            guard let index = routes.byField.firstIndex(where: { $0.peek == field.peek }) else { return }
            routes.byField[index].table[field.value]?.removeAll { $0.consumer == consumer }
            if routes.byField[index].table[field.value]?.isEmpty ?? false { routes.byField[index].table[field.value] = nil }
            if routes.byField[index].table.isEmpty { routes.byField.remove(at: index) }
        }
    }

    func offer(_ payload: RawSpan, _ kind: MessageKind, into outcome: inout StreamOffer) {
        let routes = routes.withLockedValue { $0 }
        // Nil until a consumer wants it; the inner value is nil if decoding failed.
        var value: Value??
        give(routes.all, payload, kind, &value, &outcome)
        for (peek, table) in routes.byField {
            guard let field = FieldValue(peek, in: payload), let intakes = table[field] else { continue }
            give(intakes, payload, kind, &value, &outcome)
        }
    }

    func finish(_ end: Result<Void, WebSocketError>) {
        for intake in routes.withLockedValue({ $0.everybody }) { intake.finish(end) }
    }

    private func give(
        _ intakes: [Intake], _ payload: RawSpan, _ kind: MessageKind, _ value: inout Value??, _ outcome: inout StreamOffer
    ) {
        for intake in intakes {
            if intake.takesMessages {
                if intake.push(payload, kind) { outcome.held.append(intake.consumer) }
                continue
            }
            if value == nil {
                do { value = .some(try decoding.decode(payload, kind)) } catch {
                    value = .some(nil)
                    outcome.failures.append(("\(Value.self)", error))
                }
            }
            if case .some(.some(let value)) = value, intake.push(value) { outcome.held.append(intake.consumer) }
        }
    }
}

/// Receives from the reader what one consumer of a typed stream should get.
protocol StreamIntake<Value>: AnyObject, Sendable {
    associatedtype Value: Sendable
    var consumer: EventHub.Share.Party { get }
    /// Whether it takes undecoded messages.
    var takesMessages: Bool { get }
    /// Whether reading should pause until the consumer has taken some values.
    var isHeld: Bool { get }

    /// Adds a value; returns ``isHeld``.
    func push(_ value: Value) -> Bool
    /// Adds a message, whose bytes are valid only during the call; returns ``isHeld``.
    func push(_ payload: RawSpan, _ kind: MessageKind) -> Bool
    func finish(_ end: Result<Void, WebSocketError>)
}

/// Receives values that were decoded once for all consumers.
final class ValueIntake<Value: Sendable, Output: Sendable>: StreamIntake {
    let consumer: EventHub.Share.Party
    private let mailbox: StreamMailbox<Value, Output>

    init(_ consumer: EventHub.Share.Party, _ mailbox: StreamMailbox<Value, Output>) { (self.consumer, self.mailbox) = (consumer, mailbox) }

    var takesMessages: Bool { false }
    var isHeld: Bool { mailbox.isHeld }

    func push(_ value: Value) -> Bool { mailbox.push(value) }
    func push(_ payload: RawSpan, _ kind: MessageKind) -> Bool { false }
    func finish(_ end: Result<Void, WebSocketError>) { mailbox.finish(end) }
}

/// Receives undecoded messages, and reads the field that distinguishes them.
final class FieldIntake<Value: Sendable, Output: Sendable>: StreamIntake {
    let consumer: EventHub.Share.Party
    private let peek: PayloadPeek
    private let mailbox: StreamMailbox<FieldMessage, Output>

    init(_ consumer: EventHub.Share.Party, _ peek: PayloadPeek, _ mailbox: StreamMailbox<FieldMessage, Output>) {
        (self.consumer, self.peek, self.mailbox) = (consumer, peek, mailbox)
    }

    var takesMessages: Bool { true }
    var isHeld: Bool { mailbox.isHeld }

    func push(_ value: Value) -> Bool { false }

    func push(_ payload: RawSpan, _ kind: MessageKind) -> Bool {
        let bytes = payload.withUnsafeBytes { [UInt8]($0) }
        return mailbox.push(FieldMessage(field: FieldValue(peek, in: payload), bytes: bytes, kind: kind))
    }

    func finish(_ end: Result<Void, WebSocketError>) { mailbox.finish(end) }
}

/// A message that waits to be decoded.
struct FieldMessage: Sendable {
    let field: FieldValue?
    let bytes: [UInt8]
    let kind: MessageKind

    /// The message as the peer sent it.
    var message: Message { kind == .text ? .text(String(decoding: bytes, as: UTF8.self)) : .binary(bytes) }
}

/// Creates the consumers of a typed stream.
struct StreamPlan<Value: Sendable>: Sendable {
    let socket: WebSocket
    let decoding: MessageDecoding<Value>
    let delivery: StreamDelivery<Value>
    let totals: DeliveryTotals
    /// The filter; nil for all messages.
    private(set) var field: StreamFilterField?
    /// The error with which it fails at once, if it asks for something impossible.
    private(set) var problem: WebSocketError?
    private var format: PayloadPeek.Format?

    init(_ socket: WebSocket, _ decoding: MessageDecoding<Value>, _ filter: MessageFilter?, _ delivery: StreamDelivery<Value>) {
        (self.socket, self.decoding, self.delivery) = (socket, decoding, delivery)
        totals = DeliveryTotals(within: socket.session.instruments.deliveries)
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
        WebSocketError(TransportError(.invalidConfiguration, "cannot read a field of a \(decoding.name) message without decoding it"))
    }

    /// The buffering for a consumer that reads and decodes by itself; nil if values are to be pushed.
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
