import DequeModule
import NIOConcurrencyHelpers
import WebSocketCore
import WebSocketRuntime

/// Takes what was received in batches for one loop, which gets it one by one.
///
/// What is left of a batch when the loop ends goes back, for a later loop.
@usableFromInline
final class MessageTaker {
    private let transport: any MessageTransport
    private let batches: (any BatchTransport)?
    private let joiner: NIOLockedValueBox<MessageJoiner>
    @exclusivity(unchecked) private var batch: Deque<Received> = []

    init(_ connection: WebSocketConnection) {
        (transport, joiner) = (connection.transport, connection.joiner)
        batches = transport as? any BatchTransport
    }

    deinit { if !batch.isEmpty { batches?.putBack(batch) } }

    /// The next message, if it is at hand.
    @usableFromInline
    func ready() -> Message? {
        while let received = batch.popFirst() {
            if case .message(let message) = received { return message }
            if let message = joiner.withLockedValue({ $0.join(received) }) { return message }
        }
        return nil
    }

    /// Waits for the next message; nil after a clean end.
    func next() async throws(TransportError) -> Message? {
        while true {
            if let message = ready() { return message }
            if let batches {
                batch = try await batches.receiveBatch()
            } else if let received = try await transport.receive() {
                batch.append(received)
            }
            if batch.isEmpty { return nil }
        }
    }
}
