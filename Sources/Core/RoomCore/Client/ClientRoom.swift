import MachineCore

/// The state of one room in a rooms client.
struct ClientRoom: Hashable, Sendable {
    /// The state of the room in the store.
    enum Store: Hashable, Sendable {
        /// To be read as soon as no ordered write of the room is pending.
        case due
        /// Being read.
        case loading
        /// The read failed; the client reads again at this time.
        case resting(until: Moment, full: Bool)
        /// Read; writes that were ordered since count as done.
        case ready
    }
    /// The state of the room on the current connection.
    enum Standing: Hashable, Sendable {
        /// Not joined.
        case out
        /// A join is pending until this time. → `behind`, `live`, `barred`, `pausing`.
        case asked(until: Moment)
        /// To be joined again once all ordered writes are on disk. → `asked`.
        case behind
        /// To be joined again at this time. → `asked`.
        case pausing(until: Moment)
        /// Live: entries arrive as they are published. → `behind`.
        case live
        /// The hub refuses access. → `asked` with a fresh token or connection.
        case barred(Refusal)
    }
    /// A publication that the hub reported as missing.
    struct Missed: Hashable, Sendable {
        var expected: Int64
        var pause: Duration
    }
    /// A command of the app that came while the store was being read.
    enum Held: Hashable, Sendable {
        case submit(MessageID, sent: Int64, Publication.Content)
        case retry(MessageID)
        case discard(MessageID)
    }

    let room: RoomName
    var request: JoinRequest
    /// Whether the app wants to be in the room; if not, the record exists only until its pending work is done.
    var isWanted: Bool
    var store = Store.due
    /// The number of reads without an answer; only the last one counts.
    var loads = 0
    var standing = Standing.out
    /// Whether the client sent a join on this connection, so that the hub counts it as a member, or will.
    var wasAsked = false
    /// Whether the hub has answered a join on this connection, so that it accepts publications.
    var isAttached = false
    /// The pending transactions that touch the room, and the entries and bytes in them.
    var (unwritten, unwrittenEntries, unwrittenBytes): (Int, Int, Int) = (0, 0, 0)
    var held: [Held] = []
    var heldBytes = 0

    var inbox = Inbox()
    var outbox = RoomOutbox()
    var read: Int64 = 0

    var epoch: UInt64 = 0
    var head: Int64 = 0
    /// The number of the first entry that the hub retains, as the hub last reported.
    var base: Int64 = 1
    var rights: RoomRights = []
    /// The greatest message number of this device that the hub is known to have.
    var high: Int64 = 0
    /// The last publication that the hub missed, and the pause if it misses that or an earlier one next; nil after an ack.
    var missed: Missed?
    /// The client publishes nothing before this time.
    var holdUntil: Moment?
    /// When the client resends publications without an ack.
    var resendAt: Moment?
    /// The number of resends in a row without any answer about them.
    var resends = 0
    /// The number of temporary refusals in a row.
    var putOffs = 0
    /// How often the connection was lost while the client joined this room separately.
    var suspicion = 0
    /// Whether the client still has to fetch older entries, down to the beginning.
    var fillsUp = false
    /// When to request them again, because there was no answer.
    var fillAgainAt: Moment?

    var membership = RoomMembership()
    /// The time until which the client does not ask for the members again.
    var membersAsked: Moment?
    var typing = TypingTable()
    var reads: [UserName: Int64] = [:]
    /// The phase that the app was last told.
    var told: RoomPhase?

    init(_ room: RoomName, _ request: JoinRequest, isWanted: Bool) { (self.room, self.request, self.isWanted) = (room, request, isWanted) }

    /// Resets the state that was valid on one connection only.
    mutating func detach() {
        (standing, isAttached, high) = (.out, false, 0)
        (holdUntil, resendAt, fillAgainAt, membersAsked, putOffs, resends) = (nil, nil, nil, nil, 0, 0)
        missed = nil
        outbox.rewind()
    }
}
