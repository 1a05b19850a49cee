/// The transactions that were ordered and are not known to be on disk, in order.
struct CommitLedger: Hashable, Sendable {
    /// What to tell if a transaction was not written.
    enum Regret: Hashable, Sendable {
        case notQueued(RoomName, MessageID)
        case noPage(RoomName, reference: Int64)
        case stillFailed(RoomName, MessageID, OutboxFailure)
        case notRenewed(DeviceID)
    }
    struct Pending: Hashable, Sendable {
        var number: Int64
        /// The rooms that it changes; each once.
        var rooms: [RoomName]
        /// What the app hears once it is on disk.
        var news: [RoomsNews]
        var regrets: [Regret]
        var isRenewal = false
        /// Entries and bytes of payloads in it.
        var entries = 0
        var bytes = 0
    }
    /// In the order of their numbers.
    private(set) var pending: [Pending] = []
    private var last: Int64 = 0
    /// All up to this number are on disk.
    private(set) var written: Int64 = 0

    /// The number of the next.
    var next: Int64 { last + 1 }
    var isEmpty: Bool { pending.isEmpty }

    mutating func order(_ commit: Pending) {
        last = commit.number
        pending.append(commit)
    }

    /// Tells something after all that was ordered for a room so far; false if nothing waits.
    mutating func tell(_ news: RoomsNews, after room: RoomName) -> Bool {
        guard let place = pending.lastIndex(where: { $0.rooms.contains(room) }) else { return false }
        pending[place].news.append(news)
        return true
    }

    /// Those that are known to be on disk now.
    mutating func commit(upTo number: Int64) -> [Pending] {
        let count = pending.prefix { $0.number <= number }.count
        guard count > 0 else { return [] }
        written = pending[count - 1].number
        defer { pending.removeFirst(count) }
        return Array(pending.prefix(count))
    }

    /// Those that will never be on disk; none if the number is not waited for.
    mutating func void(from number: Int64) -> [Pending] {
        guard let place = pending.firstIndex(where: { $0.number == number }) else { return [] }
        defer { pending.removeSubrange(place...) }
        return Array(pending[place...])
    }
}
