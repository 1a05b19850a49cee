import WebSocketRuntime
import SessionCore
import WebSocketCore

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
