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

/// The part of a room's log that the client has: a contiguous range of one epoch that ends at the cursor.
///
/// It is ahead of the store: ordered writes count as written.
struct Inbox: Hashable, Sendable {
    /// The position of the last entry.
    private(set) var cursor: LogPosition
    /// The number of the first entry; that of the cursor + 1 if there is none.
    private(set) var first: Int64
    /// The hub's proof of the entry at the cursor; nil if there is none.
    private(set) var proof: CursorProof?

    init(cursor: LogPosition = .nowhere, first: Int64 = 1, proof: CursorProof? = nil) {
        (self.cursor, self.first, self.proof) = (cursor, first, proof)
    }

    /// The valid numbers of entries.
    private static let numbers = 1..<RoomsLimits.number

    /// Returns whether an answer to `join` is consistent and matches the request.
    func fits(_ state: HubFrame.RoomState) -> Bool {
        guard state.epoch != 0, Self.numbers.contains(state.from), (0..<RoomsLimits.number).contains(state.to), state.to <= state.head,
            Int64(state.items.count) == state.to - state.from + 1, Self.isContiguous(state.items, from: state.from)
        else { return false }
        // A snapshot may end before the cursor, if the log went back and there is no proof: it replaces the entries like any other
        // snapshot.
        if state.isSnapshot { return true }
        return state.epoch == cursor.epoch && state.from <= cursor.seq + 1 && state.to >= cursor.seq
            && (!state.hasMore || state.to > cursor.seq)
    }

    /// Returns whether entries are numbered consecutively.
    static func isContiguous(_ items: [Entry], from first: Int64) -> Bool {
        var expected = first
        for entry in items {
            guard entry.seq == expected, numbers.contains(expected) else { return false }
            expected += 1
        }
        return true
    }

    /// Takes the entries that follow the cursor, and drops those that it has.
    ///
    /// `isAstray` is true if it found a gap or another epoch: the client must join the room again before it takes more entries.
    ///
    /// - Parameter new: The proof of the last entry.
    mutating func take(_ items: [Entry], epoch: UInt64, proof new: CursorProof? = nil) -> (taken: [Entry], isAstray: Bool) {
        let before = cursor
        let result = follow(items, epoch: epoch)
        if cursor != before { proof = nil }
        if let new, !result.isAstray, items.last?.seq ?? cursor.seq == cursor.seq { proof = new }
        return result
    }

    private mutating func follow(_ items: [Entry], epoch: UInt64) -> (taken: [Entry], isAstray: Bool) {
        guard epoch == cursor.epoch, epoch != 0 else { return ([], true) }
        if let first = items.first, first.seq == cursor.seq + 1, Self.isContiguous(items, from: first.seq) {
            cursor.seq += Int64(items.count)
            return (items, false)
        }
        var taken: [Entry] = []
        for entry in items where entry.seq > cursor.seq {
            guard entry.seq == cursor.seq + 1, Self.numbers.contains(entry.seq) else { return (taken, true) }
            taken.append(entry)
            cursor.seq = entry.seq
        }
        return (taken, false)
    }

    /// Replaces everything with a snapshot.
    mutating func replace(epoch: UInt64, to: Int64, count: Int, proof: CursorProof? = nil) {
        self.proof = proof
        cursor = LogPosition(epoch: epoch, seq: to)
        first = to + 1 - Int64(count)
    }

    /// Takes the entries of a page that come right before the first entry; none if there is a gap.
    mutating func prepend(_ items: [Entry], epoch: UInt64) -> ArraySlice<Entry> {
        guard epoch == cursor.epoch, epoch != 0, let last = items.last, last.seq >= first - 1, let earliest = items.first,
            earliest.seq < first
        else { return [] }
        let older = items.prefix { $0.seq < first }
        first = earliest.seq
        return older
    }
}
