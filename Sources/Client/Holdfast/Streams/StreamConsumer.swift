import CodecCore
import MachineCore
import WebSocketRuntime
import StreamCore
import WebSocketCore

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
