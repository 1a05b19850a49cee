import WebSocketCore
import WebSocketRuntime

/// Takes what was received in batches for one loop, which gets it one by one.
///
/// What is left of a batch when the loop ends goes back, for a later loop.
@usableFromInline
final class MessageTaker {
    private let connection: WebSocketConnection
    private let queue: InboundQueue?
    @exclusivity(unchecked) private var batch = ReceivedBatch()

    init(_ connection: WebSocketConnection) {
        self.connection = connection
        queue = (connection.transport as? any BatchTransport)?.inbound
    }

    deinit { if !batch.isEmpty { queue?.putBack(batch) } }

    /// The next message, if it is at hand.
    @usableFromInline
    func ready() -> Message? {
        if let message = batch.popShort() { return message }
        while let received = batch.popFirst() {
            if let message = connection.whole(received) { return message }
        }
        return nil
    }

    /// Lends the messages at hand that lie there as bytes, as long as `body` says to go on; false if there are none.
    func lendReady(_ body: (MessageKind, RawSpan) -> Bool) -> Bool {
        let before = batch.count
        do throws(Enough) {
            try batch.lendShort { kind, payload throws(Enough) in if !body(kind, payload) { throw Enough() } }
        } catch {}
        return batch.count < before
    }

    private struct Enough: Error {}

    /// Waits for the next message when none is at hand; nil after a clean end.
    @usableFromInline
    func wait() async throws(WebSocketError) -> Message? {
        do throws(TransportError) { return try await nextOfMore() } catch { throw WebSocketError(error) }
    }

    /// The next message, at hand or not; nil after a clean end.
    func next() async throws(TransportError) -> Message? {
        if let message = ready() { return message }
        return try await nextOfMore()
    }

    private func nextOfMore() async throws(TransportError) -> Message? {
        while true {
            if let queue {
                batch = try await queue.nextBatch()
            } else if let received = try await connection.transport.receive() {
                batch.append(received)
            }
            if batch.isEmpty { return nil }
            if let message = ready() { return message }
        }
    }
}
