import CodecCore
import MachineCore
import StreamCore
import WebSocketCore
import WebSocketRuntime

/// One consumer of a typed stream, from its beginning to the release of this object.
final class StreamConsumer<Value: Sendable, Item: Sendable, Output: Sendable>: Sendable {
    /// Kept alive, for without it nothing happens any more.
    private let socket: WebSocket
    private let decoding: MessageDecoding<Value>
    private let field: StreamFilterField?
    private let mailbox: StreamMailbox<Item, Output>
    private let party: EventHub.Share.Party
    private let ledger: DeliveryLedger

    /// - Parameters:
    ///   - intake: Makes what fills the mailbox.
    init(
        _ plan: StreamPlan<Value>, _ buffer: any DeliveryBuffer<Item, Output>, isTimed: Bool,
        _ intake: (EventHub.Share.Party, StreamMailbox<Item, Output>) -> any StreamIntake<Value>
    ) {
        (socket, decoding, field, ledger) = (plan.socket, plan.decoding, plan.field, plan.ledger)
        let mailbox = StreamMailbox(buffer, time: socket.session.time, isTimed: isTimed)
        self.mailbox = mailbox
        party = socket.hub.open(plan.decoding, for: plan.field?.pair) { intake($0, mailbox) }
        ledger.join(mailbox)
    }

    deinit {
        socket.hub.leave(party, decoding, for: field?.pair)
        ledger.leave(mailbox)
    }

    /// Waits for what is due next; nil after an end in peace, or when the task is cancelled.
    func next() async throws(WebSocketError) -> Output? {
        try await mailbox.next { socket.hub.relieve(party) }
    }

    /// The value of a message that waited as it came; nil if it is no such value, which is told.
    func decode(_ waiting: FieldMessage) -> Value? {
        do { return try waiting.bytes.withUnsafeBytes { try decoding.decode($0.bytes, waiting.kind) } } catch {
            socket.hub.report(.undecodable(UndecodableMessage(message: waiting.message, type: "\(Value.self)", error: error)))
            return nil
        }
    }
}

/// A field, and what is to stand there.
struct StreamFilterField: Sendable {
    let peek: PayloadPeek
    let value: FieldValue

    var pair: StreamLane.Field { (peek, value) }
}

/// The consumer of a typed stream that loses nothing: it reads and decodes by itself, in its own task.
final class SuspendingConsumer<Value: Sendable>: Sendable {
    private let subscription: Subscription
    private let decoding: MessageDecoding<Value>
    private let ledger: DeliveryLedger
    private let tally = DeliveryTally()

    init(_ plan: StreamPlan<Value>, _ buffering: EventBuffering) {
        subscription = Subscription(plan.socket, buffering, .messages, reports: true)
        (decoding, ledger) = (plan.decoding, plan.ledger)
        ledger.join(tally)
    }

    deinit { ledger.leave(tally) }

    /// Waits for the next value; nil after an end in peace, or when the task is cancelled.
    func next() async throws(WebSocketError) -> Value? {
        // Asked each time: a slow consumer of a fast peer never has to wait.
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

    /// Nil if it is no such value, which is told.
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
