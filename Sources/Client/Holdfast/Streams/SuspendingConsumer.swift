import WebSocketCore

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
