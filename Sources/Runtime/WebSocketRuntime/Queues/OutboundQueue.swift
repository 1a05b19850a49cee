import Atomics
package import DequeModule
package import WebSocketCore

/// What was accepted for sending and is not yet in the socket's hands: bounded, first in first out.
///
/// Any task may send; each waits its turn while the queue is full, so no message overtakes
/// another and none is mixed with another. The transport takes batches on its event loop.
package final class OutboundQueue: Sendable {
    /// A message or a piece of one, on its way out.
    package enum Entry: Sendable {
        /// A whole message.
        case message(Message)
        /// A piece; `isFirst` opens its message.
        case chunk(MessageChunk, isFirst: Bool)
        /// Somebody wants to know when the socket has all that stands before this; see ``OutboundQueue/whenWritten(_:)``.
        case mark(UInt64)
    }

    private let state: LockedValue<OutboundState>
    private let onWork: @Sendable () -> Void
    /// What the state says of it, for those who ask before each message.
    private let idle = ManagedAtomic(true)

    /// - Parameters:
    ///   - capacity: Bytes that may wait before senders are made to wait.
    ///   - encoder: Encodes messages as they are accepted; nil: all wait as entries.
    ///   - onWork: Called when there is something to take, and not again until a take found nothing.
    package init(capacity: Int, encoder: (any OutboundEncoder)? = nil, onWork: @escaping @Sendable () -> Void) {
        self.state = LockedValue(OutboundState(capacity: capacity, encoder: encoder))
        self.onWork = onWork
    }

    /// Accepts a message, waiting while the queue is full.
    package func send(_ message: Message) async throws(TransportError) {
        if try offer(message) { return }
        try await submit(.entry(.message(message), of: nil))
    }

    /// Accepts a message if there is room and nobody waits; false otherwise.
    package func offer(_ message: Message) throws(TransportError) -> Bool {
        let (isAccepted, hasWork) = state.withLockedValue { state in
            defer { idle.store(state.isIdle, ordering: .releasing) }
            return (state.offer(message), state.takeWork())
        }
        if hasWork { onWork() }
        if isAccepted { return true }
        return try change { $0.admit(.entry(.message(message), of: nil)) }.get()
    }

    /// Waits until no other message is being sent in pieces, and keeps all others out.
    package func beginMessage() async throws(TransportError) -> MessageTicket {
        let ticket = MessageTicket(number: change { $0.nextID() })
        try await submit(.ticket(ticket))
        return ticket
    }

    /// Accepts the next piece of a message begun with ``beginMessage()``.
    package func send(_ chunk: MessageChunk, of ticket: MessageTicket) async throws(TransportError) {
        try await submit(.entry(.chunk(chunk, isFirst: false), of: ticket))
    }

    /// Gives up a message begun; returns true if pieces of it are out, so that the peer can never have it whole.
    package func abandon(_ ticket: MessageTicket) -> Bool {
        change { $0.abandon(ticket) }
    }

    /// Takes what waits, up to about `limit` bytes and at least one entry; empty when nothing waits.
    ///
    /// - Parameter takeEncoded: Takes what the encoder holds, which goes ahead of the entries; runs under the lock.
    package func take(upTo limit: Int, _ takeEncoded: () -> Void = {}) -> Deque<Entry> {
        change {
            takeEncoded()
            return $0.take(upTo: limit)
        }
    }

    /// Whether nothing was accepted that is not taken, and nobody waits.
    package var isIdle: Bool { idle.load(ordering: .acquiring) }

    /// Whether messages wait to be taken; if nothing does, `onWork` tells of the next.
    package func awaitWork() -> Bool { change { $0.awaitWork() } }

    /// Refuses everything from now on.
    ///
    /// What was accepted can still be taken, unless `discarding`.
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
            _ = actor  // Whoever waits on an actor goes on there, without a detour.
            change { $0.wait(for: wish, id: id, isCancelled: Task.isCancelled, place) }
            return await place.wait()
        } onCancel: {
            change { $0.cancel(id) }
        }
        try result.get()
    }

    /// Calls `body` with true when the transport has said ``wrote(_:)`` of everything that was accepted before this call, with false if it
    /// never will.
    package func whenWritten(_ body: @escaping @Sendable (Bool) -> Void) {
        if !change({ $0.mark(body) }) { body(false) }
    }

    /// The socket has all that stood before this mark.
    package func wrote(_ mark: UInt64) {
        for body in change({ $0.takeMarks(through: mark) }) { body(true) }
    }

    /// Nothing more is written.
    package func finishMarks() {
        for body in change({ $0.finishMarks() }) { body(false) }
    }

    /// Changes the state under the lock, then resumes whoever that settled, outside it.
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

/// Turns small messages into what travels at once, on the sender's thread, so that nothing of them has to wait as an object.
///
/// An ``OutboundQueue`` calls it under its lock.
package protocol OutboundEncoder: AnyObject, Sendable {
    /// Bytes that were encoded and not yet taken.
    var byteCount: Int { get }

    /// Encodes a message behind those before it; false if it is to wait as it is.
    func encode(_ message: Message) -> Bool

    /// Forgets what was encoded.
    func discard()
}
