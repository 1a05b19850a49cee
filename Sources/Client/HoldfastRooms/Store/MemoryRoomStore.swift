public import RoomCore

/// A store that lives as long as its process.
public actor MemoryRoomStore: RoomStore {
    private var identity: DeviceID
    private var shelves: [RoomName: Shelf] = [:]
    private let limit: Int64

    private struct Shelf {
        var bounds = StoredBounds()
        /// In order, the first one at ``StoredBounds/first``.
        var entries: [Entry] = []
        var outbox: [Int64: OutboxRow] = [:]
    }

    /// An empty store of a device of its own.
    ///
    /// - Parameter entriesPerRoom: How many entries of a room are kept at most; the oldest go first. At least 1.
    public init(entriesPerRoom: Int = 10_000) {
        limit = Int64(max(entriesPerRoom, 1))
        var generator = SystemRandomNumberGenerator()
        identity = DeviceID(using: &generator)
    }

    /// The incarnation of this store.
    public func device() -> DeviceID { identity }

    /// The rooms of which something is stored, or whose outbox holds something, by their names.
    public func rooms() -> [StoredRoomSummary] {
        shelves.filter { $1.bounds.isKnown || !$1.outbox.isEmpty }.sorted { $0.key < $1.key }.map { name, shelf in
            StoredRoomSummary(
                name: name, cursor: shelf.bounds.cursor, read: shelf.bounds.read,
                unread: shelf.entries.count {
                    $0.seq > shelf.bounds.read && $0.device != identity && !StoredRoomSummary.remarks.contains($0.type)
                }, waiting: shelf.outbox.values.count { !$0.isFailed }, failed: shelf.outbox.values.count(where: \.isFailed))
        }
    }

    /// What is stored of a room; of one that nobody knows, nothing.
    public func room(_ name: RoomName) -> StoredRoom {
        let shelf = shelves[name] ?? Shelf()
        return StoredRoom(
            cursor: shelf.bounds.cursor, first: shelf.bounds.first, next: shelf.bounds.next,
            outbox: shelf.outbox.values.sorted { $0.publication.cseq < $1.publication.cseq }, read: shelf.bounds.read)
    }

    /// Makes changes in their order: all of them, or none.
    public func commit(_ changes: [StoreChange]) throws(RoomStoreError) {
        let (identity, shelves) = (identity, shelves)
        do throws(RoomStoreError) { for change in changes { try apply(change) } } catch {
            (self.identity, self.shelves) = (identity, shelves)
            throw error
        }
    }

    private func apply(_ change: StoreChange) throws(RoomStoreError) {
        switch change {
        case .renew(let device, let outbox):
            identity = device
            for name in shelves.keys {
                shelves[name]?.outbox = [:]
                shelves[name]?.bounds.next = 1
            }
            for row in outbox {
                shelves[row.room, default: Shelf()].outbox[row.publication.cseq] = row
                let next = shelves[row.room]?.bounds.next ?? 1
                shelves[row.room]?.bounds.next = max(next, row.publication.cseq + 1)
            }
        case .queue(let row):
            try shelves[row.room, default: Shelf()].bounds.queue(row)
            shelves[row.room]?.outbox[row.publication.cseq] = row
        case .mark(let name, let cseq, let state): shelves[name]?.outbox[cseq]?.state = state
        case .remove(let name, let cseq): shelves[name]?.outbox[cseq] = nil
        case .append(let name, let epoch, let entries):
            var shelf = take(name)
            let kept = try shelf.bounds.append(name, epoch: epoch, entries, limit: limit)
            shelf.entries.append(contentsOf: kept)
            shelf.entries.removeFirst(max(0, shelf.entries.count - Int(limit)))
            shelves[name] = shelf
        case .replace(let name, let cursor, let entries):
            var shelf = take(name)
            shelf.entries = Array(try shelf.bounds.replace(name, cursor: cursor, entries, limit: limit))
            shelves[name] = shelf
        case .prepend(let name, let epoch, let entries):
            var shelf = take(name)
            shelf.entries.insert(contentsOf: try shelf.bounds.prepend(name, epoch: epoch, entries, limit: limit), at: 0)
            shelves[name] = shelf
        case .read(let name, let seq): shelves[name, default: Shelf()].bounds.read(upTo: seq)
        case .forget(let name):
            shelves[name]?.bounds.forget()
            shelves[name]?.entries = []
        }
    }

    /// A room's shelf, out of its place: it changes where it lies.
    private func take(_ name: RoomName) -> Shelf { shelves[name] ?? Shelf() }

    /// The last stored entries of a room below a number, in order.
    public func entries(_ room: RoomName, before: Int64?, limit: Int) -> [Entry] {
        guard let shelf = shelves[room] else { return [] }
        let first = shelf.bounds.first
        let end = before.map { min(Int(max($0, first) - first), shelf.entries.count) } ?? shelf.entries.count
        return Array(shelf.entries[..<end].suffix(max(limit, 0)))
    }

    /// The first stored entries of a room after a place, in order; nil if what follows that place is not stored.
    public func entries(_ room: RoomName, after: LogPosition, limit: Int) -> [Entry]? {
        guard let shelf = shelves[room], shelf.bounds.follows(after) else { return nil }
        return Array(shelf.entries[Int(after.seq + 1 - shelf.bounds.first)...].prefix(max(limit, 0)))
    }
}

extension OutboxRow {
    var isFailed: Bool {
        if case .failed = state { return true }
        return false
    }
}

extension StoredBounds {
    /// Whether what comes after a place is stored, as far as there is anything.
    func follows(_ place: LogPosition) -> Bool {
        isKnown && place.epoch == cursor.epoch && (first - 1...max(cursor.seq, first - 1)).contains(place.seq)
    }
}
