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
}
