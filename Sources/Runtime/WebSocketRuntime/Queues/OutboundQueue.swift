import Atomics
package import DequeModule
package import WebSocketCore

/// The bounded queue of messages that were accepted for sending and not yet given to the socket, first in, first out.
///
/// Any task may send. While the queue is full, senders wait for their turn, so no message overtakes another and messages are never
/// interleaved. The transport takes batches on its event loop.
package final class OutboundQueue: Sendable {
    /// A message or a piece of one that waits to be sent.
    package enum Entry: Sendable {
        /// A whole message.
        case message(Message)
        /// A piece of a message; `isFirst` marks the first one.
        case chunk(MessageChunk, isFirst: Bool)
        /// A marker for a caller that wants to know when the socket has everything before it; see ``OutboundQueue/whenWritten(_:)``.
        case mark(UInt64)
    }

    private let state: LockedValue<OutboundState>
    private let onWork: @Sendable () -> Void
    /// A copy of the state's `isIdle`, which can be read without the lock before each message.
    private let idle = ManagedAtomic(true)

    /// - Parameters:
    ///
    ///   - capacity: The number of waiting bytes above which senders have to wait.
    ///   - encoder: Encodes messages as they are accepted; nil keeps all messages as entries.
    ///   - onWork: Called when there is something to take, and not again until a take found nothing.
    package init(capacity: Int, encoder: (any OutboundEncoder)? = nil, onWork: @escaping @Sendable () -> Void) {
        self.state = LockedValue(OutboundState(capacity: capacity, encoder: encoder))
        self.onWork = onWork
    }

    /// Accepts a message; waits while the queue is full.
    package func send(_ message: Message) async throws(TransportError) {
        if try offer(message) { return }
        try await submit(.entry(.message(message), of: nil))
    }

    /// Accepts a message if there is room and nobody waits; otherwise returns false.
    package func offer(_ message: Message) throws(TransportError) -> Bool {
        let (isAccepted, hasWork) = state.withLockedValue { state in
            defer { idle.store(state.isIdle, ordering: .releasing) }
            return (state.offer(message), state.takeWork())
        }
        if hasWork { onWork() }
        if isAccepted { return true }
        return try change { $0.admit(.entry(.message(message), of: nil)) }.get()
    }

    /// Waits until no other message is being sent in pieces, and then blocks all others.
    package func beginMessage() async throws(TransportError) -> MessageTicket {
        let ticket = MessageTicket(number: change { $0.nextID() })
        try await submit(.ticket(ticket))
        return ticket
    }

    /// Accepts the next piece of a message begun with ``beginMessage()``.
    package func send(_ chunk: MessageChunk, of ticket: MessageTicket) async throws(TransportError) {
        try await submit(.entry(.chunk(chunk, isFirst: false), of: ticket))
    }

    /// Abandons a message; returns true if pieces of it were sent, so that the peer can never receive the whole message.
    package func abandon(_ ticket: MessageTicket) -> Bool {
        change { $0.abandon(ticket) }
    }

    /// Takes waiting entries, up to about `limit` bytes and at least one entry; returns an empty deque if nothing waits.
    ///
    /// - Parameter takeEncoded: Takes the encoder's bytes, which go before the entries; runs under the lock.
    package func take(upTo limit: Int, _ takeEncoded: () -> Void = {}) -> Deque<Entry> {
        change {
            takeEncoded()
            return $0.take(upTo: limit)
        }
    }

    /// Whether all accepted messages were taken, and nobody waits.
    package var isIdle: Bool { idle.load(ordering: .acquiring) }

    /// Whether messages wait to be taken; if not, `onWork` will report the next one.
    package func awaitWork() -> Bool { change { $0.awaitWork() } }

    /// Refuses all messages from now on.
    ///
    /// Accepted messages can still be taken, unless `discarding` is true.
    package func finish(_ error: TransportError, discarding: Bool) {
        change { $0.finish(error, discarding: discarding) }
        if discarding { finishMarks() }
    }

    private func submit(
        _ wish: OutboundState.Wish, isolation actor: isolated (any Actor)? = #isolation
    ) async throws(TransportError) {
        if try change({ $0.admit(wish) }).get() { return }
        let id = change { $0.nextID() }
        let place = OutboundState.Waiter()
        let result = await withTaskCancellationHandler {
            _ = actor  // A task that waits on an actor resumes there directly.
            change { $0.wait(for: wish, id: id, isCancelled: Task.isCancelled, place) }
            return await place.wait()
        } onCancel: {
            change { $0.cancel(id) }
        }
        try result.get()
    }

    /// Calls `body` with true when everything accepted before this call was written, with false if it never will be.
    ///
    /// The transport reports writes with ``wrote(_:)``.
    package func whenWritten(_ body: @escaping @Sendable (Bool) -> Void) {
        if !change({ $0.mark(body) }) { body(false) }
    }

    /// Reports that the socket has everything before this mark.
    package func wrote(_ mark: UInt64) {
        for body in change({ $0.takeMarks(through: mark) }) { body(true) }
    }

    /// Reports that nothing more will be written.
    package func finishMarks() {
        for body in change({ $0.finishMarks() }) { body(false) }
    }

    /// Changes the state under the lock, and then resumes the settled waiters outside of it.
    private func change<Result>(_ body: (inout OutboundState) -> Result) -> Result {
        let (result, settled, hasWork) = state.withLockedValue { state in
            let result = body(&state)
            state.admitWaiters()
            defer { idle.store(state.isIdle, ordering: .releasing) }
            return (result, state.takeSettled(), state.takeWork())
        }
        for (waiter, outcome) in settled { waiter.call(outcome) }
        if hasWork { onWork() }
        return result
    }
}

/// Encodes small messages to bytes on the sender's thread, so that they need not wait as objects.
///
/// An ``OutboundQueue`` calls it under its lock.
package protocol OutboundEncoder: AnyObject, Sendable {
    /// The number of encoded bytes that were not taken yet.
    var byteCount: Int { get }

    /// Encodes a message after the earlier ones; returns false if the message has to wait as an entry.
    func encode(_ message: Message) -> Bool

    /// Discards the encoded bytes.
    func discard()
}
