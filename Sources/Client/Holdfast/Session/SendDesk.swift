import SessionCore
import WebSocketCore
import WebSocketRuntime

/// Where messages are handed in: any task may, at any time.
///
/// A message goes straight to the connection while nothing waits, in no lane and not in the hands of another task: then there is none
/// that it could overtake, which is what `SendQueue.passesThrough` asks for. Whatever waits has a ticket from before the queue
/// hears of it until after the connection has taken it, so that nobody needs to ask the queue.
final class SendDesk: Sendable {
    private struct State {
        /// The connection that serves, while there is one.
        var line: SendLine?
        /// What waits, or is about to.
        var tickets: [UInt64: SendTicket] = [:]
        var lastID: UInt64 = 0
        var depth = SendVolume()
        var dropped: UInt64 = 0
        var isClosed = false
    }
    let policy: SendPolicy
    private let state = LockedValue(State())
    /// Tells that another connection serves, or that nothing more is taken.
    let news = Changes()

    init(_ policy: SendPolicy) { self.policy = policy }

    var depth: SendVolume { state.withLockedValue(\.depth) }
    var dropped: UInt64 { state.withLockedValue(\.dropped) }
    var line: SendLine? { state.withLockedValue { $0.line } }
    var isClosed: Bool { state.withLockedValue(\.isClosed) }

    func serve(_ line: SendLine?) {
        state.withLockedValue { $0.line = line }
        news.announce()
    }

    /// Sends without waiting and without the queue; nil if that cannot be.
    func offer(_ message: Message) -> SendReceipt? {
        state.withLockedValue { $0.tickets.isEmpty && !$0.isClosed ? $0.line : nil }?.offer(message)
    }

    /// A ticket for a message that has to take its place in the queue; nil once closed.
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

    /// A connection took the message.
    func take(_ ticket: SendTicket, over trail: WriteTrail) {
        ticket.finish(.taken(trail, serial: trail.take()))
        state.withLockedValue { _ = $0.tickets.removeValue(forKey: ticket.id) }
    }

    /// Learns at once what the session has decided: a sender that comes back from there finds it here.
    ///
    /// The one place where it becomes known how much waits, and what is dropped.
    ///
    /// - Returns: What the app is to be told of, for nobody else tells it.
    func hear(_ effect: Session.Effect) -> DroppedSend? {
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

    /// Takes nothing more.
    func close() {
        state.withLockedValue { ($0.isClosed, $0.line) = (true, nil) }
        news.announce()
    }

    /// Refuses what waits, for nobody else will any more, except what a connection has in hand.
    func end(inHand: UInt64?) {
        close()
        _ = hear(.backlog(SendVolume()))
        for id in state.withLockedValue({ Array($0.tickets.keys) }) where id != inHand { _ = hear(.refused(id, .closed)) }
    }
}

/// A connection as those who send see it.
struct SendLine: Sendable {
    let connection: WebSocketConnection
    let trail: WriteTrail

    init(_ connection: WebSocketConnection) { (self.connection, trail) = (connection, WriteTrail(connection.transport)) }

    /// Sends without waiting; nil if the connection does not take it.
    func offer(_ message: Message) -> SendReceipt? {
        guard connection.accepts(message) else { return nil }
        return SendReceipt(.taken(trail, serial: trail.take()))
    }
}

/// A message that could not go out at once.
final class SendTicket: Sendable {
    /// How it left the queue.
    enum End: Sendable {
        case taken(WriteTrail, serial: UInt64?)
        case refused(SendRefusal)
    }
    private struct State {
        var end: End?
        /// Its sender has gone on, so that nobody else tells what becomes of it.
        var isLeft = false
    }
    let id: UInt64
    let message: Message
    let lane: Lane
    private let state = LockedValue(State())
    private let changes = Changes()

    init(id: UInt64, _ message: Message, _ lane: Lane) { (self.id, self.message, self.lane) = (id, message, lane) }

    /// Says how it ended; only the first counts.
    ///
    /// - Returns: Whether its sender has gone on.
    @discardableResult func finish(_ end: End) -> Bool {
        let isLeft = state.withLockedValue { state in
            if state.end == nil { state.end = end }
            return state.isLeft
        }
        changes.announce()
        return isLeft
    }

    /// Goes on without waiting; returns how it has ended, if it has.
    func leave() -> End? {
        state.withLockedValue { state in
            if state.end == nil { state.isLeft = true }
            return state.end
        }
    }

    /// Waits for its end; nil if the task is cancelled.
    func end() async -> End? {
        while true {
            let version = changes.version
            if let end = state.withLockedValue(\.end) { return end }
            if Task.isCancelled { return nil }
            await changes.next(after: version)
        }
    }

    /// Waits for its end, also when the task is cancelled.
    func endForSure() async -> End? {
        // SAFETY: ends with this function, and that with the send: taken or refused, at the latest when its socket ends.
        await Task { await end() }.value
    }
}

/// How far the socket of one connection has come with what was sent: the shell around a `WriteLog`.
///
/// It asks the transport only from the moment at which somebody wants to know, and then one thing at a time: whether all that was
/// taken so far is written. So it never says of a message that it is written before that is so, in whatever order senders
/// come here with what the transport took.
final class WriteTrail: Sendable {
    private struct State {
        var log = WriteLog()
        /// Nil once nothing more can be learnt.
        var transport: (any MessageTransport)?
        /// Somebody wanted to know: from now on whatever is sent is followed.
        var isFollowed = false
        var isAsking = false
        /// Those who wait, by the serials of their messages.
        var waiters: [UInt64: [UInt64: CheckedContinuation<Void, Never>]] = [:]
        var lastWaiter: UInt64 = 0
    }
    private let state: LockedValue<State>

    init(_ transport: any MessageTransport) { state = LockedValue(State(transport: transport)) }

    /// Notes that the transport has taken one more message; returns its serial, nil if the connection is over.
    func take() -> UInt64? {
        let (serial, isFollowed) = state.withLockedValue { ($0.log.take(), $0.isFollowed) }
        if isFollowed { ask() }
        return serial
    }

    /// The connection is over.
    func end() {
        let waiters = state.withLockedValue { state in
            state.log.end()
            state.transport = nil
            defer { state.waiters = [:] }
            return state.waiters.values
        }
        for waiter in waiters.flatMap(\.values) { waiter.resume() }
    }

    /// Learns what becomes of all that was taken so far, and of whatever comes.
    func follow() {
        state.withLockedValue { $0.isFollowed = true }
        ask()
    }

    /// Waits for what becomes of a message; nil if the task is cancelled.
    func fate(of serial: UInt64) async -> SendFate? {
        if let fate = state.withLockedValue({ $0.log.fate(of: serial) }) { return fate }
        follow()
        let id = state.withLockedValue { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let mustWait = state.withLockedValue { state in
                    guard state.log.fate(of: serial) == nil, !Task.isCancelled else { return false }
                    state.waiters[serial, default: [:]][id] = waiter
                    return true
                }
                if !mustWait { waiter.resume() }
            }
        } onCancel: {
            state.withLockedValue { $0.waiters[serial]?.removeValue(forKey: id) }?.resume()
        }
        return state.withLockedValue { $0.log.fate(of: serial) }
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

    /// Returns those who waited for that.
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
