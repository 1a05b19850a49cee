package import MachineCore

/// Decides which message goes out next, and which messages are refused.
///
/// The queue knows messages by id and size; the owner keeps their payloads. Every submitted id ends exactly once: the connection took it
/// (``Input/taken(_:)``), or it was never sent (``Effect/refused(_:_:)``). Order is kept within a lane, and a higher lane goes first.
///
/// The owner passes the events of one connection at a time: no event of an old connection may come after the new one has opened.
package struct SendQueue: Machine, Hashable {
    /// The state of the queue.
    package enum Phase: Hashable, Sendable {
        /// No connection: messages wait or are refused, depending on the policy.
        ///
        /// → `ready` or `sending` on `opened`, → `closed` on `close`.
        case disconnected(since: Moment)
        /// The connection accepts messages, and none wait. → `sending` on `submit`, → `disconnected` on `lost`, → `closed` on `close`.
        case ready
        /// A message was handed to the connection, which has not answered yet. No other message is sent meanwhile.
        ///
        /// If the connection does not take it, the message is refused with the reason in `otherwise`, or becomes the first of its lane
        /// again if that is nil.
        /// → `ready` or `sending` the next on `taken`, → `blocked` on `blocked`, → `disconnected` on `lost`, → `closing` on `close`.
        case sending(UInt64, otherwise: SendRefusal?)
        /// The connection accepts no messages now: callers wait, whatever the policy.
        ///
        /// → `ready` or `sending` on `room`, → `disconnected` on `lost`, → `closed` on `close`.
        case blocked
        /// Closed while a message was handed over. → `closed` on `taken`, `blocked` or `lost`.
        case closing(UInt64, otherwise: SendRefusal)
        /// The queue is closed: every new message is refused.
        case closed
    }
    /// An event that affects the queue.
    package enum Input: Hashable, Sendable {
        /// A caller sends a message of this size and waits at most this long for the connection to take it; nil to use the policy's time.
        ///
        /// With no patience (zero or less), the message goes at once or not at all. An id belongs to its message until that ends: meanwhile
        /// another message with the same id is ignored.
        case submit(id: UInt64, lane: Lane, byteCount: Int, patience: Duration?)
        /// The caller withdraws the message. If it was already handed over, it is withdrawn only if the connection does not take it.
        case withdraw(UInt64)
        /// A connection is open.
        case opened
        /// The connection is gone. It has taken only the messages that it reported as taken.
        case lost
        /// The connection took the message.
        case taken(UInt64)
        /// The connection did not take the message because its buffer is full. ``room`` follows.
        case blocked(UInt64)
        /// The connection accepts messages again.
        case room
        /// The session is over.
        case close
    }
    /// An order to the owner, or a result.
    package enum Effect: Hashable, Sendable {
        /// Hand the message to the connection, and answer with ``Input/taken(_:)``, ``Input/blocked(_:)`` or ``Input/lost``.
        case transmit(UInt64)
        /// Take back the message that was handed over if the connection has not taken it yet. Answer as before.
        case recall(UInt64)
        /// The message ended without being sent, for this reason: discard its payload and tell its caller.
        case refused(UInt64, SendRefusal)
    }

    /// The state of the queue.
    package internal(set) var phase = Phase.disconnected(since: .start)
    /// The number of messages lost to the capacity limit: refused for lack of room, or pushed out.
    package internal(set) var dropped: UInt64 = 0
    let policy: SendPolicy
    /// The waiting messages, and the one that was handed over if it would wait again.
    var waiting = WaitingSends()
    var deadlines = Deadlines()
    /// The arrival times of messages that wait as long as the policy says.
    var arrivals = Deadlines()

    /// Creates an empty queue without a connection.
    package init(policy: SendPolicy = SendPolicy()) { self.policy = policy }

    /// The volume of the waiting messages, including the one that was handed over if it would wait again.
    package var depth: SendVolume { waiting.volume }

    /// Whether the next message may go directly to the connection, without the queue.
    ///
    /// True only while the connection is open, has not reported that it is full, has answered for every message that it was handed, and no
    /// message waits in any lane. A direct message then overtakes no other. The value is valid until the next input or wake: hand the
    /// message over before that, then check again. If the connection does not take a direct message, submit it at once, before any other
    /// message of its lane.
    package var passesThrough: Bool { if case .ready = phase { true } else { false } }

    /// Applies one input and appends the resulting effects in order.
    ///
    /// Overdue messages are refused first, whatever the input, so that no message is handed over too late.
    package mutating func handle(_ input: Input, at now: Moment, into effects: inout [Effect]) {
        wake(at: now, into: &effects)
        apply(input, at: now, into: &effects)
        wake(at: now, into: &effects)  // Messages without patience are overdue now.
    }

    private mutating func apply(_ input: Input, at now: Moment, into effects: inout [Effect]) {
        switch (phase, input) {
        case (_, .submit(let id, let lane, let byteCount, let patience)):
            guard waiting[id] == nil, id != handedOver else { return }
            submit(id, WaitingSends.Send(lane: lane, byteCount: byteCount, submittedAt: now, patience: patience), into: &effects)
        case (_, .withdraw(let id)):
            abandon(id, .withdrawn, into: &effects)
        case (.disconnected, .opened), (.blocked, .room):
            proceed(into: &effects)
        case (.sending(let id, _), .taken(let taken)) where id == taken:
            remove(id)
            proceed(into: &effects)
        case (.sending(let id, let otherwise), .blocked(let blocked)) where id == blocked:
            phase = .blocked
            if let otherwise { refuse(id, otherwise, into: &effects) }
        case (.ready, .lost), (.sending, .lost), (.blocked, .lost):
            lose(at: now, into: &effects)
        case (.closing(let id, _), .taken(let taken)) where id == taken:
            phase = .closed
        case (.closing(let id, let otherwise), .blocked(let blocked)) where id == blocked:
            phase = .closed
            refuse(id, otherwise, into: &effects)
        case (.closing(let id, let otherwise), .lost):
            phase = .closed
            refuse(id, otherwise, into: &effects)
        case (_, .close):
            close(into: &effects)
        case (.disconnected, _), (.ready, _), (.sending, _), (.blocked, _), (.closing, _), (.closed, _): break
        }
    }

    /// The message that was handed to the connection and is not answered yet.
    var handedOver: UInt64? {
        switch phase {
        case .sending(let id, _), .closing(let id, _): id
        case .disconnected, .ready, .blocked, .closed: nil
        }
    }

    mutating func submit(_ id: UInt64, _ send: WaitingSends.Send, into effects: inout [Effect]) {
        switch phase {
        case .closing, .closed: return refuse(id, .closed, into: &effects)
        case .disconnected where policy.whileDisconnected == .fail: return refuse(id, .disconnected, into: &effects)
        case .disconnected, .ready, .sending, .blocked: break
        }
        if let reason = makeRoom(for: send, into: &effects) {
            guard phase == .ready else { return refuse(id, reason, into: &effects) }
            return transmit(id, otherwise: reason, into: &effects)  // A message that need not wait needs no room.
        }
        waiting.append(id, send)
        if let due = send.due {
            deadlines.insert(Deadlines.Deadline(moment: due, id: id))
        } else if case .wait = policy.whileDisconnected {
            arrivals.insert(Deadlines.Deadline(moment: send.submittedAt, id: id))
        }
        if phase == .ready { proceed(into: &effects) }
    }

    /// Hands over the next message, if any waits.
    mutating func proceed(into effects: inout [Effect]) {
        guard let next = waiting.next else { return phase = .ready }
        transmit(next, otherwise: nil, into: &effects)
    }

    private mutating func transmit(_ id: UInt64, otherwise: SendRefusal?, into effects: inout [Effect]) {
        phase = .sending(id, otherwise: otherwise)
        effects.append(.transmit(id))
        if otherwise != nil { effects.append(.recall(id)) }  // It goes at once or not at all.
    }

    /// Refuses a waiting message.
    ///
    /// A message that was handed over is refused only if the connection does not take it.
    mutating func abandon(_ id: UInt64, _ reason: SendRefusal, into effects: inout [Effect]) {
        guard waiting[id] != nil else { return }
        remove(id)
        guard id == handedOver else { return refuse(id, reason, into: &effects) }
        phase = .sending(id, otherwise: reason)
        effects.append(.recall(id))
    }

    mutating func lose(at now: Moment, into effects: inout [Effect]) {
        if case .sending(let id, let otherwise?) = phase { refuse(id, otherwise, into: &effects) }
        phase = .disconnected(since: now)
        if policy.whileDisconnected == .fail { refuseAll(.disconnected, into: &effects) }
    }

    mutating func close(into effects: inout [Effect]) {
        switch phase {
        case .closing, .closed: return
        case .sending(let id, let otherwise):
            remove(id)
            phase = .closing(id, otherwise: otherwise ?? .closed)
        case .disconnected, .ready, .blocked: phase = .closed
        }
        refuseAll(.closed, into: &effects)
    }

    private mutating func refuseAll(_ reason: SendRefusal, into effects: inout [Effect]) {
        while let next = waiting.next {
            remove(next)
            refuse(next, reason, into: &effects)
        }
    }

    mutating func refuse(_ id: UInt64, _ reason: SendRefusal, into effects: inout [Effect]) {
        if reason == .overflow || reason == .dropped { dropped += 1 }
        effects.append(.refused(id, reason))
    }

    /// Pushes out messages to make room for a new one.
    ///
    /// Returns the reason if there is no room; then no message was pushed out.
    mutating func makeRoom(for newcomer: WaitingSends.Send, into effects: inout [Effect]) -> SendRefusal? {
        guard policy.whileDisconnected == .queue else { return nil }
        let one = SendVolume(count: 1, bytes: newcomer.byteCount)
        guard one.fits(in: policy.capacity) else { return .tooLarge }
        let lanes = lanesGivingWay(to: newcomer.lane)
        guard (depth + one - volumeGivingWay(in: lanes)).fits(in: policy.capacity) else { return .overflow }
        while !(depth + one).fits(in: policy.capacity), let id = nextGivingWay(in: lanes) {
            remove(id)
            refuse(id, .dropped, into: &effects)
        }
        return nil
    }

    /// The lanes whose messages may be pushed out, the lowest first.
    private func lanesGivingWay(to lane: Lane) -> [Lane] {
        switch policy.overflow {
        case .dropOldest: Lane.allCases.filter { $0 <= lane }
        case .dropNewest: Lane.allCases.filter { $0 < lane }
        case .refuse: []
        }
    }

    private func volumeGivingWay(in lanes: [Lane]) -> SendVolume {
        var volume = lanes.reduce(SendVolume()) { $0 + waiting.volume(of: $1) }
        if let id = handedOver, let send = waiting[id], lanes.contains(send.lane) {
            volume -= SendVolume(count: 1, bytes: send.byteCount)
        }
        return volume
    }

    private func nextGivingWay(in lanes: [Lane]) -> UInt64? {
        for lane in lanes {
            let isOldest = policy.overflow == .dropOldest
            let id = isOldest ? waiting.oldest(of: lane, except: handedOver) : waiting.newest(of: lane, except: handedOver)
            if let id { return id }
        }
        return nil
    }

    /// The moment at which the next message times out; nil if no message has a time limit.
    package var deadline: Moment? { nextOverdue?.moment }

    /// Refuses messages that have waited too long.
    ///
    /// Early and repeated calls are harmless.
    package mutating func wake(at now: Moment, into effects: inout [Effect]) {
        while let next = nextOverdue, next.moment <= now { abandon(next.id, .timedOut, into: &effects) }
    }

    /// The message that times out next, by its caller's patience or by the policy's limit while disconnected.
    private var nextOverdue: Deadlines.Deadline? {
        guard case .disconnected(let since) = phase, case .wait(let limit) = policy.whileDisconnected, let oldest = arrivals.first else {
            return deadlines.first
        }
        let due = Deadlines.Deadline(moment: max(since, oldest.moment) + limit, id: oldest.id)
        return min(deadlines.first ?? due, due)
    }

    /// Removes a message from the waiting ones, with its deadline.
    mutating func remove(_ id: UInt64) {
        waiting.remove(id)
        // Deadlines of messages that ended early stay until they come first or outnumber the rest.
        deadlines.drop(atMost: 2 * depth.count + 16) { [waiting] in waiting[$0.id]?.due != $0.moment }
        arrivals.drop(atMost: 2 * depth.count + 16) { [waiting] in
            guard let send = waiting[$0.id] else { return true }
            return send.due != nil || send.submittedAt != $0.moment
        }
    }
}

/// What happens to messages that cannot be sent at once.
public struct SendPolicy: Hashable, Sendable {
    /// What happens to a message while there is no connection.
    public enum WhileDisconnected: Hashable, Sendable {
        /// The caller waits for a connection for at most this long, measured from the send or from the loss, whichever is later.
        ///
        /// A caller with its own patience is not limited by this. The number of waiting messages is not limited: each has a caller, who
        /// sends nothing else meanwhile.
        case wait(Duration)
        /// The message is kept until there is a connection, within the policy's capacity.
        case queue
        /// The message is refused at once, and so is every message that a lost connection had not taken.
        case fail
    }
    /// Which message is discarded when the queue has no room for a new one.
    ///
    /// A message is never discarded for one of a lower lane. A message that was handed to the connection is never discarded.
    public enum Overflow: Hashable, Sendable {
        /// Discards the oldest message of the lowest lane, then the next one, until there is room.
        case dropOldest
        /// Discards the newest message of the lowest lane, then the one before it. In its own lane the new message is the newest, and is refused.
        case dropNewest
        /// Refuses the new message and keeps all accepted ones.
        case refuse
    }

    /// What happens while there is no connection; by default the caller waits for 30 s.
    public var whileDisconnected: WhileDisconnected
    /// The most that may wait under ``WhileDisconnected/queue``, connected or not; by default 1000 messages and 1 MiB.
    ///
    /// A message larger than this is sent only if it need not wait.
    public var capacity: SendVolume
    /// Which message is discarded at the capacity limit; the new one by default.
    public var overflow: Overflow

    /// Creates a policy.
    public init(
        whileDisconnected: WhileDisconnected = .wait(.seconds(30)),
        capacity: SendVolume = SendVolume(count: 1000, bytes: 1 << 20),
        overflow: Overflow = .refuse
    ) {
        (self.whileDisconnected, self.capacity, self.overflow) = (whileDisconnected, capacity, overflow)
    }
}

/// The outcome of a send; exactly one of these.
public enum SendOutcome: Hashable, Sendable {
    /// The socket took every byte. Only the peer knows whether it received them.
    case written
    /// The message was never sent, and may safely be sent again.
    case refused(SendRefusal)
    /// The connection was lost after it had taken the message: the message may have arrived or not.
    case unknown
}

/// Why a message was never sent.
public enum SendRefusal: Hashable, Sendable {
    /// The queue had no room for it.
    case overflow
    /// It waited and was discarded to make room for another message.
    case dropped
    /// It is larger than the queue's capacity, and it could not be sent at once.
    case tooLarge
    /// The caller's patience or the policy's limit ended before a connection took it.
    case timedOut
    /// There is no connection, and the policy says not to wait for one.
    case disconnected
    /// The caller withdrew it.
    case withdrawn
    /// The session is closed.
    case closed
}

/// The priority of a waiting message: a higher lane goes before a lower one, and order is kept within each lane.
///
/// A message can overtake only waiting messages: it never interrupts one that the connection has taken.
public enum Lane: CaseIterable, Comparable, Hashable, Sendable {
    /// Goes when no other message waits, such as an upload in pieces. Discarded first when there is no room.
    case bulk
    /// The default for all other messages.
    case normal
    /// Goes before all other messages, such as a cancellation or an acknowledgement.
    case urgent
}
