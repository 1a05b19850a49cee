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

/// The state and rules of ``OutboundQueue``: who may enqueue, who waits, and who is next.
struct OutboundState {
    typealias Waiter = Parking<Result<Void, TransportError>>

    /// A sender's request.
    enum Wish {
        case entry(OutboundQueue.Entry, of: MessageTicket?)
        case ticket(MessageTicket)

        /// Whether this is a further piece of a message; it goes before all others, because they wait for its message to end.
        var isPiece: Bool {
            if case .entry(_, of: .some) = self { true } else { false }
        }
    }

    private struct Streaming {
        let ticket: MessageTicket
        /// Whether a piece of the message was enqueued.
        var hasBegun = false
    }

    let capacity: Int
    /// The encoder of the messages that go before the entries.
    private let encoder: (any OutboundEncoder)?
    private var entries: Deque<OutboundQueue.Entry> = []
    private var entriesCost = 0
    private var cost: Int { entriesCost + (encoder?.byteCount ?? 0) }
    private var isScheduled = false
    private var end: TransportError?
    /// The message that is being sent in pieces.
    private var streaming: Streaming?
    private var waiters: Deque<(id: UInt64, wish: Wish, place: Waiter)> = []
    private var settled: [(Waiter, Result<Void, TransportError>)] = []
    private var lastID: UInt64 = 0
    /// The callbacks of ``OutboundQueue/whenWritten(_:)``, in order; nil once nothing more will be written.
    private var marks: Deque<(id: UInt64, body: @Sendable (Bool) -> Void)>? = []

    init(capacity: Int, encoder: (any OutboundEncoder)?) { (self.capacity, self.encoder) = (capacity, encoder) }

    mutating func nextID() -> UInt64 {
        lastID += 1
        return lastID
    }

    /// Returns true if the request is granted, and false if it has to wait.
    mutating func admit(_ wish: Wish) -> Result<Bool, TransportError> {
        if let refusal = refusal(of: wish) { return .failure(refusal) }
        guard fits(wish), waiters.isEmpty || wish.isPiece else { return .success(false) }
        grant(wish)
        return .success(true)
    }

    mutating func wait(for wish: Wish, id: UInt64, isCancelled: Bool, _ waiter: Waiter) {
        if isCancelled {
            settled.append((waiter, .failure(.cancelledSend)))
        } else if let refusal = refusal(of: wish) {
            settled.append((waiter, .failure(refusal)))
        } else if wish.isPiece {
            waiters.prepend((id, wish, waiter))
        } else {
            waiters.append((id, wish, waiter))
        }
    }

    mutating func cancel(_ id: UInt64) {
        guard let index = waiters.firstIndex(where: { $0.id == id }) else { return }
        settled.append((waiters.remove(at: index).place, .failure(.cancelledSend)))
    }

    mutating func admitWaiters() {
        while let first = waiters.first, fits(first.wish) {
            waiters.removeFirst()
            grant(first.wish)
            settled.append((first.place, .success(())))
        }
    }

    /// The complete fast path: accepts the message at once and returns true, if possible.
    mutating func offer(_ message: Message) -> Bool {
        guard end == nil, streaming == nil, waiters.isEmpty else { return false }
        let cost = cost
        guard cost == 0 || cost < capacity else { return false }
        enqueue(message)
        return true
    }

    mutating func take(upTo limit: Int) -> Deque<OutboundQueue.Entry> {
        var batch: Deque<OutboundQueue.Entry> = []
        if entriesCost <= limit {
            swap(&batch, &entries)
            entriesCost = 0
        } else {
            var room = limit
            while room > 0, let entry = entries.popFirst() {
                (room, entriesCost) = (room - entry.cost, entriesCost - entry.cost)
                batch.append(entry)
            }
        }
        if batch.isEmpty, cost == 0 { isScheduled = false }
        return batch
    }

    /// Whether the queue is empty, open and without waiters: then a message that bypasses it overtakes no other.
    var isIdle: Bool { !isScheduled && waiters.isEmpty && streaming == nil && end == nil }

    /// Whether something waits to be taken.
    private var hasWork: Bool { !entries.isEmpty || encoder.map { $0.byteCount > 0 } ?? false }

    mutating func awaitWork() -> Bool {
        if !hasWork { isScheduled = false }
        return cost > 0
    }

    mutating func abandon(_ ticket: MessageTicket) -> Bool {
        guard let streaming, streaming.ticket == ticket else { return false }
        self.streaming = nil
        settlePieces()
        // Anything sent after the first pieces would be taken for a part of their message.
        if streaming.hasBegun { finish(.halfSent, discarding: false) }
        return streaming.hasBegun
    }

    mutating func finish(_ error: TransportError, discarding: Bool) {
        if end == nil { end = error }
        if discarding {
            (entries, entriesCost) = ([], 0)
            encoder?.discard()
        }
        for waiter in waiters { settled.append((waiter.place, .failure(error))) }
        waiters = []
    }

    mutating func takeSettled() -> [(Waiter, Result<Void, TransportError>)] {
        guard !settled.isEmpty else { return [] }
        defer { settled = [] }
        return settled
    }

    /// Returns true when the transport has to be told that there is something to take.
    mutating func takeWork() -> Bool {
        guard !isScheduled, hasWork else { return false }
        isScheduled = true
        return true
    }

    /// Adds a mark after all accepted messages, also when none follows; returns false if nothing more will be written.
    mutating func mark(_ body: @escaping @Sendable (Bool) -> Void) -> Bool {
        guard marks != nil else { return false }
        let id = nextID()
        marks?.append((id, body))
        enqueue(.mark(id))
        return true
    }

    mutating func takeMarks(through id: UInt64) -> [@Sendable (Bool) -> Void] {
        var written: [@Sendable (Bool) -> Void] = []
        while let first = marks?.first, first.id <= id {
            written.append(first.body)
            marks?.removeFirst()
        }
        return written
    }

    mutating func finishMarks() -> [@Sendable (Bool) -> Void] { marks.take()?.map(\.body) ?? [] }

    /// The error if a request can never be granted; nil if it can.
    private func refusal(of wish: Wish) -> TransportError? {
        if let end { return end }
        guard case .entry(_, let ticket?) = wish, streaming?.ticket != ticket else { return nil }
        return .endedMessage
    }

    /// Refuses the pieces that wait although their message has ended.
    private mutating func settlePieces() {
        while let first = waiters.first, first.wish.isPiece {
            settled.append((waiters.removeFirst().place, .failure(.endedMessage)))
        }
    }

    private func fits(_ wish: Wish) -> Bool {
        switch wish {
        case .ticket: streaming == nil
        case .entry(_, let ticket): (cost == 0 || cost < capacity) && streaming?.ticket == ticket
        }
    }

    private mutating func grant(_ wish: Wish) {
        switch wish {
        case .ticket(let ticket):
            streaming = Streaming(ticket: ticket)
        case .entry(.chunk(let chunk, _), of: .some(let ticket)):
            enqueue(.chunk(chunk, isFirst: streaming?.hasBegun == false))
            streaming = chunk.isLast ? nil : Streaming(ticket: ticket, hasBegun: true)
            if chunk.isLast { settlePieces() }
        case .entry(.message(let message), _): enqueue(message)
        case .entry(let entry, _): enqueue(entry)
        }
    }

    private mutating func enqueue(_ message: Message) {
        // A message must not overtake the waiting entries.
        if entries.isEmpty, let encoder, encoder.encode(message) { return }
        enqueue(.message(message))
    }

    private mutating func enqueue(_ entry: OutboundQueue.Entry) {
        entries.append(entry)
        entriesCost += entry.cost
    }
}

extension OutboundQueue.Entry {
    /// The size in bytes, plus the overhead of an entry: no less than the size of its frame.
    package var cost: Int {
        switch self {
        case .message(let message): message.byteCount + 32
        case .chunk(let chunk, _): chunk.bytes.count + 32
        case .mark: 0
        }
    }
}

extension TransportError {
    static let cancelledSend = TransportError(.cancelled, "the send was cancelled before the message was accepted")
    static let endedMessage = TransportError(.cancelled, "the message of this piece is complete, or was abandoned")
    static let halfSent = TransportError(.closed, "the connection was closed because a message was abandoned half sent")
}
