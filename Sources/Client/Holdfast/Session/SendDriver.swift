import SessionCore
import WebSocketCore
import WebSocketRuntime

/// Accepts messages for sending from any task at any time.
///
/// A message goes straight to the connection while no other message waits in any lane or is in the hands of another task. It then
/// overtakes no message, as `SendQueue.passesThrough` requires. A waiting message has a ticket before it enters the queue and until the
/// connection has taken it, so the driver can decide this without asking the queue.
final class SendDriver: Sendable {
    private struct State {
        /// The connection that takes messages, if there is one.
        var target: SendTarget?
        /// The messages that wait or are about to.
        var tickets: [UInt64: SendTicket] = [:]
        var lastID: UInt64 = 0
        var depth = SendVolume()
        var dropped: UInt64 = 0
        var isClosed = false
    }
    let policy: SendPolicy
    private let state = LockedValue(State())
    /// Announced when another connection takes messages, or when the driver is closed.
    let news = Changes()

    init(_ policy: SendPolicy) { self.policy = policy }

    var depth: SendVolume { state.withLockedValue({ $0.depth }) }
    var dropped: UInt64 { state.withLockedValue({ $0.dropped }) }
    var target: SendTarget? { state.withLockedValue { $0.target } }
    var isClosed: Bool { state.withLockedValue({ $0.isClosed }) }

    func serve(_ target: SendTarget?) {
        state.withLockedValue { $0.target = target }
        news.announce()
    }

    /// Sends without waiting and without the queue; returns nil if that is not possible.
    func offer(_ message: Message) -> SendReceipt? {
        state.withLockedValue { $0.tickets.isEmpty && !$0.isClosed ? $0.target : nil }?.offer(message)
    }

    /// Returns a ticket for a message that goes through the queue; nil once closed.
    func admit(_ message: Message, _ lane: Lane) -> SendTicket? {
        state.withLockedValue { state in
            if state.isClosed { return nil }
            state.lastID += 1
            let ticket = SendTicket(id: state.lastID, message, lane)
            state.tickets[ticket.id] = ticket
            return ticket
        }
    }

    func ticket(_ id: UInt64) -> SendTicket? { state.withLockedValue { $0.tickets[id] } }

    /// Records that a connection took the message.
    func take(_ ticket: SendTicket, over trail: WriteTrail) {
        ticket.finish(.taken(trail, serial: trail.take()))
        state.withLockedValue { _ = $0.tickets.removeValue(forKey: ticket.id) }
    }

    /// Applies a decision of the session at once, so that a sender that returns from the session already sees it here.
    ///
    /// This is the only place that updates the queue depth and drops messages.
    ///
    /// - Returns: The message to report to the app as dropped, if the queue dropped it or its sender no longer waits.
    func handle(_ effect: Session.Effect) -> DroppedSend? {
        switch effect {
        case .backlog(let depth): state.withLockedValue { $0.depth = depth }
        case .refused(let id, let reason): return refuse(id, reason)
        default: break
        }
        return nil
    }

    private func refuse(_ id: UInt64, _ reason: SendRefusal) -> DroppedSend? {
        guard let ticket = state.withLockedValue({ $0.tickets.removeValue(forKey: id) }) else { return nil }
        let isLeft = ticket.finish(.refused(reason))
        guard isLeft || reason == .overflow || reason == .dropped else { return nil }
        state.withLockedValue { $0.dropped += 1 }
        return DroppedSend(message: ticket.message, lane: ticket.lane, refusal: reason)
    }

    /// Closes the driver: it accepts no more messages.
    func close() {
        state.withLockedValue { ($0.isClosed, $0.target) = (true, nil) }
        news.announce()
    }

    /// Refuses all waiting messages because the session no longer does, except the one that a connection is taking.
    func end(inHand: UInt64?) {
        close()
        _ = handle(.backlog(SendVolume()))
        for id in state.withLockedValue({ Array($0.tickets.keys) }) where id != inHand { _ = handle(.refused(id, .closed)) }
    }
}

/// A connection as the senders use it.
struct SendTarget: Sendable {
    let connection: WebSocketConnection
    let trail: WriteTrail

    init(_ connection: WebSocketConnection) { (self.connection, trail) = (connection, WriteTrail(connection.transport)) }

    /// Sends without waiting; returns nil if the connection does not accept the message now.
    func offer(_ message: Message) -> SendReceipt? {
        guard connection.accepts(message) else { return nil }
        return SendReceipt(.taken(trail, serial: trail.take()))
    }
}

/// A message that could not be sent at once.
final class SendTicket: Sendable {
    /// How the message left the queue.
    enum End: Sendable {
        case taken(WriteTrail, serial: UInt64?)
        case refused(SendRefusal)
    }
    private struct State {
        var end: End?
        /// Whether the sender no longer waits; the app then learns the outcome of the message only as an event or from the receipt.
        var isLeft = false
    }
    let id: UInt64
    let message: Message
    let lane: Lane
    private let state = LockedValue(State())
    private let changes = Changes()

    init(id: UInt64, _ message: Message, _ lane: Lane) { (self.id, self.message, self.lane) = (id, message, lane) }

    /// Sets the outcome; only the first call counts.
    ///
    /// - Returns: Whether the sender no longer waits.
    @discardableResult func finish(_ end: End) -> Bool {
        let isLeft = state.withLockedValue { state in
            if state.end == nil { state.end = end }
            return state.isLeft
        }
        changes.announce()
        return isLeft
    }

    /// Stops the sender's wait; returns the outcome if there is one already.
    func leave() -> End? {
        state.withLockedValue { state in
            if state.end == nil { state.isLeft = true }
            return state.end
        }
    }

    /// Waits for the outcome; returns nil if the task is cancelled.
    func end() async -> End? {
        while true {
            let version = changes.version
            if let end = state.withLockedValue({ $0.end }) { return end }
            if Task.isCancelled { return nil }
            await changes.next(after: version)
        }
    }

    /// Waits for the outcome, also when the task is cancelled.
    func endForSure() async -> End? {
        // SAFETY: ends with this function, which ends with the send: taken or refused, at the latest when the socket ends.
        await Task { await end() }.value
    }
}

/// Tracks which sent messages the socket of one connection has written; runs a `WriteLog`.
///
/// It starts to ask the transport when the first caller wants to know an outcome. It asks one question at a time: whether all messages
/// taken so far are written. So it never reports a message as written too early, whatever the order in which senders record
/// what the transport took.
final class WriteTrail: Sendable {
    private struct State {
        var log = WriteLog()
        /// The transport; nil once nothing more can be learnt.
        var transport: (any MessageTransport)?
        /// Whether a caller has asked for an outcome; from then on every message is followed.
        var isFollowed = false
        var isAsking = false
        /// The waiting callers by the serials of their messages.
        var waiters: [UInt64: [UInt64: CheckedContinuation<Void, Never>]] = [:]
        var lastWaiter: UInt64 = 0
    }
    private let state: LockedValue<State>

    init(_ transport: any MessageTransport) { state = LockedValue(State(transport: transport)) }

    /// Records that the transport has taken one more message; returns its serial, or nil if the connection has ended.
    func take() -> UInt64? {
        let (serial, isFollowed) = state.withLockedValue { ($0.log.take(), $0.isFollowed) }
        if isFollowed { ask() }
        return serial
    }

    /// Handles the end of the connection.
    func end() {
        let waiters = state.withLockedValue { state in
            state.log.end()
            state.transport = nil
            defer { state.waiters = [:] }
            return state.waiters.values
        }
        for waiter in waiters.flatMap(\.values) { waiter.resume() }
    }

    /// Starts to follow all messages, those taken so far and all later ones.
    func follow() {
        state.withLockedValue { $0.isFollowed = true }
        ask()
    }

    /// Waits for the outcome of a message; returns nil if the task is cancelled.
    func outcome(of serial: UInt64) async -> SendOutcome? {
        if let outcome = state.withLockedValue({ $0.log.outcome(of: serial) }) { return outcome }
        follow()
        let id = state.withLockedValue { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let mustWait = state.withLockedValue { state in
                    guard state.log.outcome(of: serial) == nil, !Task.isCancelled else { return false }
                    state.waiters[serial, default: [:]][id] = waiter
                    return true
                }
                if !mustWait { waiter.resume() }
            }
        } onCancel: {
            state.withLockedValue { $0.waiters[serial]?.removeValue(forKey: id) }?.resume()
        }
        return state.withLockedValue { $0.log.outcome(of: serial) }
    }

    private func ask() {
        let question = state.withLockedValue { state -> (transport: any MessageTransport, through: UInt64)? in
            guard !state.isAsking, state.log.isPending, let transport = state.transport else { return nil }
            state.isAsking = true
            return (transport, state.log.taken)
        }
        guard let (transport, last) = question else { return }
        transport.whenWritten { [self] isWritten in
            guard isWritten else { return end() }
            for waiter in write(through: last) { waiter.resume() }
            ask()
        }
    }

    /// Marks messages as written and returns the callers that waited for them.
    private func write(through last: UInt64) -> [CheckedContinuation<Void, Never>] {
        state.withLockedValue { state in
            state.isAsking = false
            let before = state.log.written
            state.log.write(through: last)
            var waiters: [CheckedContinuation<Void, Never>] = []
            for serial in before..<state.log.written { waiters += (state.waiters.removeValue(forKey: serial + 1) ?? [:]).values }
            return waiters
        }
    }
}
