import DequeModule
public import RoomCore

/// A store that lives as long as its process.
public actor MemoryRoomStore: RoomStore {
    private var identity: DeviceID
    private var shelves: [RoomName: Shelf] = [:]
    private let limit: Int64

    private struct Shelf {
        var bounds = StoredBounds()
        /// In order, the first one at ``StoredBounds/first``.
        var entries: Deque<Entry> = []
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

    /// How many entries of a room are kept at most.
    public nonisolated var entriesPerRoom: Int { Int(limit) }

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
            outbox: shelf.outbox.values.sorted { $0.publication.cseq < $1.publication.cseq }, read: shelf.bounds.read,
            proof: shelf.bounds.proof)
    }

    /// Makes changes in their order: all of them, or none.
    public func commit(_ changes: [StoreChange]) throws(RoomStoreError) {
        // The bounds alone say whether a change follows; so the entries, of which there may be many, need no copy for the way back.
        var bounds: [RoomName: StoredBounds] = [:]
        var kept: [ArraySlice<Entry>] = []
        for change in changes { kept.append(try check(change, &bounds)) }
        for (change, entries) in zip(changes, kept) { apply(change, entries) }
        for (name, bounds) in bounds { shelves[name, default: Shelf()].bounds = bounds }
    }

    /// Makes a change of bounds; the entries of it that are kept.
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
            for row in outbox { shelves[row.room, default: Shelf()].outbox[row.publication.cseq] = row }
        case .queue(let row): shelves[row.room, default: Shelf()].outbox[row.publication.cseq] = row
        case .mark(let name, let cseq, let state): shelves[name]?.outbox[cseq]?.state = state
        case .remove(let name, let cseq): shelves[name]?.outbox[cseq] = nil
        case .append(let name, _, _):
            shelves[name, default: Shelf()].entries.append(contentsOf: kept)
            let surplus = (shelves[name]?.entries.count ?? 0) - Int(limit)
            if surplus > 0 { shelves[name]?.entries.removeFirst(surplus) }
        case .replace(let name, _, _): shelves[name, default: Shelf()].entries = Deque(kept)
        case .prepend(let name, _, _): shelves[name, default: Shelf()].entries.prepend(contentsOf: kept)
        case .prove, .read: break
        case .forget(let name): shelves[name]?.entries = []
        }
    }

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
