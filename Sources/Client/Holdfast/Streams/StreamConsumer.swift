import CodecCore
import MachineCore
import StreamCore
import WebSocketCore
import WebSocketRuntime

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
