public import MachineCore

/// Which message goes out next, and which cannot go at all.
///
/// It knows messages by id and size; the owner keeps their payloads. Every submitted id ends exactly once: the connection
/// took it (``Input/taken(_:)``), or it never left (``Effect/refused(_:_:)``). Order is kept within a lane, and a higher lane goes first.
///
/// The owner passes on the news of one connection at a time: nothing of an old one after the new one has opened.
public struct SendQueue: Machine, Hashable {
    /// Where the queue stands.
    public enum Phase: Hashable, Sendable {
        /// No connection: messages wait or are refused, by policy. → `ready` or `sending` on `opened`, → `closed` on `close`.
        case disconnected(since: Moment)
        /// The connection takes, and nothing waits. → `sending` on `submit`, → `disconnected` on `lost`, → `closed` on `close`.
        case ready
        /// A message is handed to the connection, which has not answered yet; nothing else moves meanwhile.
        ///
        /// If it is not taken it is refused for the reason in `otherwise`, or is again the first of its lane if that is nil.
        /// → `ready` or `sending` the next on `taken`, → `blocked` on `blocked`, → `disconnected` on `lost`, → `closing` on `close`.
        case sending(UInt64, otherwise: SendRefusal?)
        /// The connection takes nothing now: callers wait, whatever the policy.
        /// → `ready` or `sending` on `room`, → `disconnected` on `lost`, → `closed` on `close`.
        case blocked
        /// Closed while a message was handed over. → `closed` on `taken`, `blocked` or `lost`.
        case closing(UInt64, otherwise: SendRefusal)
        /// Over for good: whatever comes is refused.
        case closed
    }
    /// What can happen to the queue.
    public enum Input: Hashable, Sendable {
        /// Someone sends a message of this size, and waits for it to be taken at most this long; nil for as long as the policy says.
        ///
        /// Without patience (zero or less) it goes at once or not at all.
        /// An id is the message's own until it ends: meanwhile another message with it is ignored.
        case submit(id: UInt64, lane: Lane, byteCount: Int, patience: Duration?)
        /// The caller wants it no more. If it is handed over already, that holds only if the connection does not take it.
        case withdraw(UInt64)
        /// A connection is open.
        case opened
        /// The connection is gone: it has taken nothing that it did not tell.
        case lost
        /// The connection took the message.
        case taken(UInt64)
        /// The connection did not take it, for its buffer is full; ``room`` follows.
        case blocked(UInt64)
        /// The connection takes messages again.
        case room
        /// The session is over.
        case close
    }
    /// What to do, and what became known.
    public enum Effect: Hashable, Sendable {
        /// Hand the message to the connection, and answer ``Input/taken(_:)``, ``Input/blocked(_:)`` or ``Input/lost``.
        case transmit(UInt64)
        /// Take the message that is handed over back if the connection has not taken it yet; answer as before.
        case recall(UInt64)
        /// The message ended without having left, for this reason: forget its payload and tell its caller.
        case refused(UInt64, SendRefusal)
    }

    /// Where the queue stands.
    public internal(set) var phase = Phase.disconnected(since: .start)
    /// How many messages the capacity has cost: refused for want of room, or pushed out.
    public internal(set) var dropped: UInt64 = 0
    let policy: SendPolicy
    /// What waits, and what is handed over but would wait again.
    var waiting = WaitingSends()
    var deadlines = Deadlines()
    /// When those came that wait as long as the policy says.
    var arrivals = Deadlines()

    /// An empty queue without a connection.
    public init(policy: SendPolicy = SendPolicy()) { self.policy = policy }

    /// How much waits, with the message that is handed over if it would wait again.
    public var depth: SendVolume { waiting.volume }

    /// Whether the next message may go to the connection directly, unknown to the queue.
    ///
    /// True exactly while the connection is open, has not said that it is full, has answered for every message it was handed,
    /// and nothing waits in any lane: then there is none that a direct one could overtake. The answer holds until the next input
    /// or wake: hand the message over before that. Then ask again; what the connection does not take, submit at once,
    /// before any other message of its lane.
    public var passesThrough: Bool { if case .ready = phase { true } else { false } }

    /// Applies one input and appends what must be done about it, in order.
    ///
    /// Messages that are overdue are refused first, whatever the input: nothing is handed over too late.
    public mutating func handle(_ input: Input, at now: Moment, into effects: inout [Effect]) {
        wake(at: now, into: &effects)
        apply(input, at: now, into: &effects)
        wake(at: now, into: &effects)  // Who came without patience.
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

    /// The message that the connection was handed and has not answered for.
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
            return transmit(id, otherwise: reason, into: &effects)  // Who need not wait needs no room.
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

    /// Refuses a message that waits; one that is handed over is refused only if it is not taken.
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

    /// Pushes out what must give way to a newcomer.
    ///
    /// Returns why there is no room for it; then nothing was pushed out in vain.
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

    /// The lowest first.
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

    /// When the first message has waited long enough; nil if none is in a hurry.
    public var deadline: Moment? { nextOverdue?.moment }

    /// Refuses what has waited long enough; calling early or twice is harmless.
    public mutating func wake(at now: Moment, into effects: inout [Effect]) {
        while let next = nextOverdue, next.moment <= now { abandon(next.id, .timedOut, into: &effects) }
    }

    /// The first whose caller's patience ends, or the policy's while there is no connection.
    private var nextOverdue: Deadlines.Deadline? {
        guard case .disconnected(let since) = phase, case .wait(let limit) = policy.whileDisconnected, let oldest = arrivals.first else {
            return deadlines.first
        }
        let due = Deadlines.Deadline(moment: max(since, oldest.moment) + limit, id: oldest.id)
        return min(deadlines.first ?? due, due)
    }

    /// Takes a message out of those that wait, and its deadline with it.
    mutating func remove(_ id: UInt64) {
        waiting.remove(id)
        // Deadlines of others that went before their time stay until they come first, or are the most.
        deadlines.drop(atMost: 2 * depth.count + 16) { [waiting] in waiting[$0.id]?.due != $0.moment }
        arrivals.drop(atMost: 2 * depth.count + 16) { [waiting] in
            guard let send = waiting[$0.id] else { return true }
            return send.due != nil || send.submittedAt != $0.moment
        }
    }
}

/// What becomes of messages that cannot go out at once.
public struct SendPolicy: Hashable, Sendable {
    /// What happens to a message while there is no connection.
    public enum WhileDisconnected: Hashable, Sendable {
        /// Its caller waits for a connection, at most this long from the sending or, if that was later, from the loss.
        ///
        /// A caller that says how long it waits is not bound by this.
        /// Nothing bounds how many wait: each has a caller, who sends nothing else meanwhile.
        case wait(Duration)
        /// It is kept until there is a connection, within the policy's capacity.
        case queue
        /// It is refused at once, and so is whatever a lost connection had not taken.
        case fail
    }
    /// What gives way when the queue has no room for one more message.
    ///
    /// A message never gives way to one of a lower lane, and none that is on its way gives way at all.
    public enum Overflow: Hashable, Sendable {
        /// The oldest of the lowest lane, then the next, until there is room.
        case dropOldest
        /// The newest of the lowest lane, then the one before; in its own lane the newcomer is the newest, and is refused.
        case dropNewest
        /// The newcomer: what was accepted stays.
        case refuse
    }

    /// What happens while there is no connection; by default the caller waits for half a minute.
    public var whileDisconnected: WhileDisconnected
    /// The most that may wait under ``WhileDisconnected/queue``, connected or not; by default 1000 messages and 1 MiB.
    ///
    /// A message of more bytes than this goes out only if it need not wait.
    public var capacity: SendVolume
    /// What gives way at the capacity; by default the newcomer.
    public var overflow: Overflow

    /// A policy.
    public init(
        whileDisconnected: WhileDisconnected = .wait(.seconds(30)),
        capacity: SendVolume = SendVolume(count: 1000, bytes: 1 << 20),
        overflow: Overflow = .refuse
    ) {
        (self.whileDisconnected, self.capacity, self.overflow) = (whileDisconnected, capacity, overflow)
    }
}

/// How a send ended: in exactly one of these.
public enum SendFate: Hashable, Sendable {
    /// The socket took every byte; whether the peer got them, only the peer can tell.
    case written
    /// It never left, and may safely be sent again.
    case refused(SendRefusal)
    /// The connection died after it had taken the message: it may have arrived or not.
    case unknown
}

/// Why a message never left.
public enum SendRefusal: Hashable, Sendable {
    /// The queue had no room for it.
    case overflow
    /// It waited, and was pushed out by a message for which there was no room else.
    case dropped
    /// The queue could not hold it even alone, and it could not go out at once.
    case tooLarge
    /// Its caller's patience, or the policy's, was over before a connection took it.
    case timedOut
    /// There is no connection, and the policy says not to wait for one.
    case disconnected
    /// Its caller wanted it no more.
    case withdrawn
    /// The session is closed.
    case closed
}

/// Which of the waiting messages go first: a higher lane before a lower one, and each lane in its own order.
///
/// A message overtakes only while it waits: nothing interrupts one that the connection has taken.
public enum Lane: CaseIterable, Comparable, Hashable, Sendable {
    /// Goes when nothing else waits, such as an upload in pieces; the first to give way where there is no room.
    case bulk
    /// Everything without a reason to be otherwise.
    case normal
    /// Goes before all else, such as a cancellation or an acknowledgement.
    case urgent
}
