import RoomCore

/// The state that a store keeps of a room besides its entries and its outbox, with the rules for its changes.
struct StoredBounds: Hashable, Sendable {
    var cursor = LogPosition.nowhere
    /// The sequence number of the first stored entry.
    var first: Int64 = 1
    var next: Int64 = 1
    var read: Int64 = 0
    /// The hub's proof of the entry at the cursor.
    var proof: CursorProof?

    /// Whether anything of the room's log is stored.
    var isKnown: Bool { cursor != .nowhere }

    /// Adds a message to the outbox; it must have the next number.
    mutating func queue(_ row: OutboxRow) throws(RoomStoreError) {
        let cseq = row.publication.cseq
        guard cseq == next, next < .max else { throw .notFollowing(row.room, "message \(cseq) instead of \(next)") }
        next += 1
    }

    /// Appends entries after the cursor.
    ///
    /// - Returns: The entries that are kept: all of them if they are within the limit.
    mutating func append(
        _ room: RoomName, epoch: UInt64, _ entries: [Entry], limit: Int64
    ) throws(RoomStoreError) -> ArraySlice<Entry> {
        guard let last = entries.last else { return [] }
        guard !isKnown || epoch == cursor.epoch, epoch != 0 else { throw .notFollowing(room, "entries of another epoch") }
        try Self.check(entries, room, from: cursor.seq + 1)
        let isEmpty = first > cursor.seq
        proof = nil
        cursor = LogPosition(epoch: epoch, seq: last.seq)
        if isEmpty { first = entries[0].seq }
        first = max(first, cursor.seq - limit + 1)
        return entries.suffix(Int(clamping: limit))
    }

    /// Replaces all entries.
    ///
    /// - Returns: The entries that are kept.
    mutating func replace(
        _ room: RoomName, cursor new: LogPosition, _ entries: [Entry], limit: Int64
    ) throws(RoomStoreError) -> ArraySlice<Entry> {
        if new.epoch != cursor.epoch || new.seq < cursor.seq { read = 0 }
        if let head = entries.first {
            try Self.check(entries, room, from: head.seq)
            guard entries.last?.seq == new.seq else { throw .notFollowing(room, "a snapshot that does not end at its cursor") }
        }
        let kept = entries.suffix(Int(clamping: limit))
        proof = nil
        cursor = new
        first = kept.first?.seq ?? new.seq + 1
        return kept
    }

    /// Prepends older entries to the first stored one.
    ///
    /// Entries that do not end right before the first stored one are ignored; it may have been dropped because it became too old.
    ///
    /// - Returns: The entries that are kept.
    mutating func prepend(
        _ room: RoomName, epoch: UInt64, _ entries: [Entry], limit: Int64
    ) throws(RoomStoreError) -> ArraySlice<Entry> {
        guard let head = entries.first, let last = entries.last else { return [] }
        try Self.check(entries, room, from: head.seq)
        guard isKnown, epoch == cursor.epoch, last.seq == first - 1 else { return [] }
        let kept = entries.suffix(Int(clamping: max(0, limit - (cursor.seq - first + 1))))
        first -= Int64(kept.count)
        return kept
    }

    mutating func read(upTo seq: Int64) { read = max(read, seq) }

    /// Forgets everything about the room except the next message number.
    mutating func forget() { self = StoredBounds(next: next) }

    /// Applies a change to this room.
    ///
    /// - Returns: The entries that are kept.
    mutating func alter(by change: StoreChange, limit: Int64) throws(RoomStoreError) -> ArraySlice<Entry> {
        switch change {
        case .queue(let row): try queue(row)
        case .append(let name, let epoch, let entries): return try append(name, epoch: epoch, entries, limit: limit)
        case .replace(let name, let cursor, let entries): return try replace(name, cursor: cursor, entries, limit: limit)
        case .prepend(let name, let epoch, let entries): return try prepend(name, epoch: epoch, entries, limit: limit)
        case .prove(_, let new): proof = new
        case .read(_, let seq): read(upTo: seq)
        case .forget: forget()
        case .renew, .mark, .remove: break
        }
        return []
    }

    private static func check(_ entries: [Entry], _ room: RoomName, from seq: Int64) throws(RoomStoreError) {
        guard seq > 0 else { throw .notFollowing(room, "entry \(seq)") }
        for (due, entry) in zip(seq..., entries) where entry.seq != due {
            throw .notFollowing(room, "entry \(entry.seq) instead of \(due)")
        }
    }
}

extension StoreChange {
    /// The room whose bounds the change alters; nil if it alters none, or those of several rooms.
    var alteredRoom: RoomName? {
        switch self {
        case .queue(let row): row.room
        case .append(let name, _, _), .replace(let name, _, _), .prepend(let name, _, _), .prove(let name, _), .read(let name, _),
            .forget(let name):
            name
        case .renew, .mark, .remove: nil
        }
    }
}
