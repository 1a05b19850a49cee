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
