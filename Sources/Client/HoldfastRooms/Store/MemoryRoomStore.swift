import DequeModule
public import RoomCore

/// A store in memory, which lives as long as its process.
public actor MemoryRoomStore: RoomStore {
    private var identity: DeviceID
    private var shelves: [RoomName: RoomData] = [:]
    private let limit: Int64

    private struct RoomData {
        var bounds = StoredBounds()
        /// The entries in order; the first one has the number ``StoredBounds/first``.
        var entries: Deque<Entry> = []
        var outbox: [Int64: OutboxRow] = [:]
    }

    /// Creates an empty store with a new device ID.
    ///
    /// - Parameter entriesPerRoom: The maximum number of entries to keep per room, at least 1; the oldest are dropped first.
    public init(entriesPerRoom: Int = 10_000) {
        limit = Int64(max(entriesPerRoom, 1))
        var generator = SystemRandomNumberGenerator()
        identity = DeviceID(using: &generator)
    }

    /// The maximum number of entries to keep per room.
    public nonisolated var entriesPerRoom: Int { Int(limit) }

    /// The device ID of this store.
    public func device() -> DeviceID { identity }

    /// Returns the rooms with stored entries or a non-empty outbox, sorted by name.
    public func rooms() -> [StoredRoomSummary] {
        shelves.filter { $1.bounds.isKnown || !$1.outbox.isEmpty }.sorted { $0.key < $1.key }.map { name, shelf in
            StoredRoomSummary(
                name: name, cursor: shelf.bounds.cursor, read: shelf.bounds.read,
                unread: shelf.entries.count {
                    $0.seq > shelf.bounds.read && $0.device != identity && !StoredRoomSummary.annotations.contains($0.type)
                }, waiting: shelf.outbox.values.count { !$0.isFailed }, failed: shelf.outbox.values.count(where: \.isFailed))
        }
    }

    /// Returns the stored state of a room; it is empty if the room is unknown.
    public func room(_ name: RoomName) -> StoredRoom {
        let shelf = shelves[name] ?? RoomData()
        return StoredRoom(
            cursor: shelf.bounds.cursor, first: shelf.bounds.first, next: shelf.bounds.next,
            outbox: shelf.outbox.values.sorted { $0.publication.cseq < $1.publication.cseq }, read: shelf.bounds.read,
            proof: shelf.bounds.proof)
    }

    /// Applies changes in order: all of them, or none.
    public func commit(_ changes: [StoreChange]) throws(RoomStoreError) {
        // The bounds alone decide whether a change is valid. So the entries, which may be many, need no copy for a rollback.
        var bounds: [RoomName: StoredBounds] = [:]
        var kept: [ArraySlice<Entry>] = []
        for change in changes { kept.append(try check(change, &bounds)) }
        for (change, entries) in zip(changes, kept) { apply(change, entries) }
        for (name, bounds) in bounds { shelves[name, default: RoomData()].bounds = bounds }
    }

    /// Applies a change to the bounds; returns the entries of the change that are kept.
    private func check(_ change: StoreChange, _ bounds: inout [RoomName: StoredBounds]) throws(RoomStoreError) -> ArraySlice<Entry> {
        if case .renew(_, let outbox) = change {
            for name in Set(shelves.keys).union(bounds.keys) { bounds[name, default: shelves[name]?.bounds ?? StoredBounds()].next = 1 }
            for row in outbox {
                let next = bounds[row.room]?.next ?? 1
                bounds[row.room, default: StoredBounds()].next = max(next, row.publication.cseq + 1)
            }
        }
        guard let name = change.alteredRoom else { return [] }
        return try bounds[name, default: shelves[name]?.bounds ?? StoredBounds()].alter(by: change, limit: limit)
    }

    private func apply(_ change: StoreChange, _ kept: ArraySlice<Entry>) {
        switch change {
        case .renew(let device, let outbox):
            identity = device
            for name in shelves.keys { shelves[name]?.outbox = [:] }
            for row in outbox { shelves[row.room, default: RoomData()].outbox[row.publication.cseq] = row }
        case .queue(let row): shelves[row.room, default: RoomData()].outbox[row.publication.cseq] = row
        case .mark(let name, let cseq, let state): shelves[name]?.outbox[cseq]?.state = state
        case .remove(let name, let cseq): shelves[name]?.outbox[cseq] = nil
        case .append(let name, _, _):
            shelves[name, default: RoomData()].entries.append(contentsOf: kept)
            let surplus = (shelves[name]?.entries.count ?? 0) - Int(limit)
            if surplus > 0 { shelves[name]?.entries.removeFirst(surplus) }
        case .replace(let name, _, _): shelves[name, default: RoomData()].entries = Deque(kept)
        case .prepend(let name, _, _): shelves[name, default: RoomData()].entries.prepend(contentsOf: kept)
        case .prove, .read: break
        case .forget(let name): shelves[name]?.entries = []
        }
    }

    /// Returns the last stored entries of a room before a sequence number, in order.
    public func entries(_ room: RoomName, before: Int64?, limit: Int) -> [Entry] {
        guard let shelf = shelves[room] else { return [] }
        let first = shelf.bounds.first
        let end = before.map { min(Int(max($0, first) - first), shelf.entries.count) } ?? shelf.entries.count
        return Array(shelf.entries[..<end].suffix(max(limit, 0)))
    }

    /// Returns the first stored entries of a room after a position, in order; nil if the entries after that position are not stored.
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
    /// Whether all entries after a position are stored, as far as there are any.
    func follows(_ place: LogPosition) -> Bool {
        isKnown && place.epoch == cursor.epoch && (first - 1...max(cursor.seq, first - 1)).contains(place.seq)
    }
}
