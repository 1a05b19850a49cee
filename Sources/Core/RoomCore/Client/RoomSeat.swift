import MachineCore

/// A room, as a client has it.
struct RoomSeat: Hashable, Sendable {
    /// What is known of the store.
    enum Store: Hashable, Sendable {
        /// To be read once nothing that was ordered for the room waits to be written.
        case due
        /// Being read.
        case loading
        /// It failed; to be read again then.
        case resting(until: Moment, full: Bool)
        /// Read; what was ordered since counts as done.
        case ready
    }
    /// Where the room stands on this connection.
    enum Standing: Hashable, Sendable {
        /// Not joined.
        case out
        /// Asked; when to ask again. → `behind`, `live`, `barred`, `pausing`.
        case asked(until: Moment)
        /// To be joined again once all that was ordered is on disk. → `asked`.
        case behind
        /// To be joined again then. → `asked`.
        case pausing(until: Moment)
        /// Entries follow as they come. → `behind`.
        case live
        /// The hub does not let us in. → `asked` with a fresh token or connection.
        case barred(Refusal)
    }
    /// A publication that the hub said it had not got.
    struct Missed: Hashable, Sendable {
        var expected: Int64
        var pause: Duration
    }
    /// What the app did while the store was being read.
    enum Held: Hashable, Sendable {
        case submit(MessageID, sent: Int64, Publication.Content)
        case retry(MessageID)
        case discard(MessageID)
    }

    let room: RoomName
    var wish: JoinWish
    /// Whether the app wants to be in it; otherwise it is here only as long as something of it is under way.
    var isWanted: Bool
    var store = Store.due
    /// Readings without an answer; only the last one counts.
    var loads = 0
    var standing = Standing.out
    /// Whether it was asked on this connection, so that the hub counts us in, or will.
    var wasAsked = false
    /// Whether the hub has answered a join on this connection, so that it takes publications.
    var isAttached = false
    /// Transactions that touch it and are not known to be on disk; what they hold.
    var (unwritten, unwrittenEntries, unwrittenBytes): (Int, Int, Int) = (0, 0, 0)
    var held: [Held] = []
    var heldBytes = 0

    var inbox = Inbox()
    var outbox = Outbox()
    var read: Int64 = 0

    var epoch: UInt64 = 0
    var head: Int64 = 0
    /// The number of the first entry that the hub retains, as it was last told.
    var base: Int64 = 1
    var rights: RoomRights = []
    /// The greatest number of ours that the hub is known to have.
    var high: Int64 = 0
    /// What the hub missed last, and how long to wait if it misses that or something earlier next; none again after an ack.
    var missed: Missed?
    /// Nothing is published before.
    var holdUntil: Moment?
    /// When to send again what is not acked.
    var resendAt: Moment?
    /// How often in a row the hub was sent the same again without a word about it.
    var resends = 0
    /// Attempts in a row that were put off.
    var putOffs = 0
    /// How often a connection was lost while it was being joined alone.
    var suspicion = 0
    /// Whether older entries are still to be fetched, down to the beginning.
    var fillsUp = false
    /// When to ask for them again, because there was no answer.
    var fillAgainAt: Moment?

    var membership = RoomMembership()
    /// Until when no further question for the members is asked.
    var membersAsked: Moment?
    var typing = TypingBook()
    var reads: [UserName: Int64] = [:]
    /// What the app was told last.
    var told: RoomPhase?

    init(_ room: RoomName, _ wish: JoinWish, isWanted: Bool) { (self.room, self.wish, self.isWanted) = (room, wish, isWanted) }

    /// Forgets what was true on one connection only.
    mutating func detach() {
        (standing, isAttached, high) = (.out, false, 0)
        (holdUntil, resendAt, fillAgainAt, membersAsked, putOffs, resends) = (nil, nil, nil, nil, 0, 0)
        missed = nil
        outbox.rewind()
    }
}
