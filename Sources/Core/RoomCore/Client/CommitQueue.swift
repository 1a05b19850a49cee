/// The ordered transactions that are not known to be on disk, in order.
struct CommitQueue: Hashable, Sendable {
    /// What to report if a transaction was not written.
    enum Undo: Hashable, Sendable {
        case notQueued(RoomName, MessageID)
        case noPage(RoomName, reference: Int64)
        case stillFailed(RoomName, MessageID, OutboxFailure)
        case notRenewed(DeviceID)
    }
    struct Pending: Hashable, Sendable {
        var number: Int64
        /// The rooms that it changes, each once.
        var rooms: [RoomName]
        /// The news for the app once the transaction is on disk.
        var news: [RoomsNews]
        var undos: [Undo]
        var isRenewal = false
        /// The entries and payload bytes in it.
        var entries = 0
        var bytes = 0
    }
    /// In the order of their numbers.
    private(set) var pending: [Pending] = []
    private var last: Int64 = 0
    /// All transactions up to this number are on disk.
    private(set) var written: Int64 = 0

    /// The number of the next transaction.
    var next: Int64 { last + 1 }
    var isEmpty: Bool { pending.isEmpty }

    mutating func order(_ commit: Pending) {
        last = commit.number
        pending.append(commit)
    }

    /// Adds news that the app gets after the last pending transaction of a room; returns false if none is pending.
    mutating func notify(_ news: RoomsNews, after room: RoomName) -> Bool {
        guard let place = pending.lastIndex(where: { $0.rooms.contains(room) }) else { return false }
        pending[place].news.append(news)
        return true
    }

    /// Returns the transactions that are now on disk, and removes them.
    mutating func commit(upTo number: Int64) -> [Pending] {
        let count = pending.prefix { $0.number <= number }.count
        guard count > 0 else { return [] }
        written = pending[count - 1].number
        defer { pending.removeFirst(count) }
        return Array(pending.prefix(count))
    }

    /// Returns the transactions that will never be on disk, and removes them; none if the number is not pending.
    mutating func void(from number: Int64) -> [Pending] {
        guard let place = pending.firstIndex(where: { $0.number == number }) else { return [] }
        defer { pending.removeSubrange(place...) }
        return Array(pending[place...])
    }
}
