import WebSocketCore
import WebSocketRuntime

/// Takes what was received in batches for one loop, which gets it one by one.
///
/// What is left of a batch when the loop ends goes back, for a later loop.
@usableFromInline
final class MessageTaker {
    private let connection: WebSocketConnection
    private let batches: (any BatchTransport)?
    @exclusivity(unchecked) private var batch = ReceivedBatch()

    init(_ connection: WebSocketConnection) {
        self.connection = connection
        batches = connection.transport as? any BatchTransport
    }

    deinit { if !batch.isEmpty { batches?.putBack(batch) } }

    /// The next message, if it is at hand.
    @usableFromInline
    func ready() -> Message? {
        while let received = batch.popFirst() {
            if let message = connection.whole(received) { return message }
        }
        return nil
    }

    /// Waits for the next message; nil after a clean end.
    func next() async throws(TransportError) -> Message? {
        while true {
            if let message = ready() { return message }
            if let batches {
                batch = try await batches.receiveBatch()
            } else if let received = try await connection.transport.receive() {
                batch.append(received)
            }
            if batch.isEmpty { return nil }
        }
    }
}
