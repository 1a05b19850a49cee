import RoomCore

/// The store of a simulated client on its disk.
///
/// A copy of it is a backup.
struct SimStore {
    struct Room {
        var cursor = LogPosition.nowhere
        var first: Int64 = 1
        var next: Int64 = 1
        var outbox: [OutboxRow] = []
        var read: Int64 = 0
        var proof: CursorProof?
        var entries: [Entry] = []

        /// Whether the entries are contiguous and end at the cursor.
        var isWhole: Bool {
            guard let end = entries.last else { return true }
            return end.seq == cursor.seq && entries.first?.seq == first && end.seq - first + 1 == Int64(entries.count)
        }

        var stored: StoredRoom { StoredRoom(cursor: cursor, first: first, next: next, outbox: outbox, read: read, proof: proof) }
    }
    var device: DeviceID
    /// The number of entries of a room that are kept.
    ///
    /// Nil means all.
    let limit: Int64?
    var rooms: [RoomName: Room] = [:]
    /// Changes that no store should be told to make.
    private(set) var faults: [String] = []

    init(device: DeviceID, limit: Int64?) { (self.device, self.limit) = (device, limit) }

    mutating func takeFaults() -> [String] {
        defer { faults = [] }
        return faults
    }

    /// As a backup that leaves out the outbox.
    mutating func dropOutbox() {
        for name in rooms.keys { rooms[name]?.outbox = [] }
    }

    mutating func commit(_ changes: [StoreChange]) {
        for change in changes {
            apply(change)
            for room in rooms.keys { letGo(of: room) }
        }
        for (name, room) in rooms where !room.isWhole {
            faults.append("\(name) has \(room.entries.map(\.seq)) and a cursor of \(room.cursor)")
        }
    }

    /// Drops the oldest entries over the limit.
    private mutating func letGo(of name: RoomName) {
        guard let limit, let count = rooms[name]?.entries.count, count > Int(limit), let last = rooms[name]?.cursor.seq else { return }
        rooms[name]?.entries.removeFirst(count - Int(limit))
        rooms[name]?.first = last - limit + 1
    }

    private mutating func expect(_ condition: Bool, _ text: @autoclosure () -> String) { if !condition { faults.append(text()) } }

    private mutating func apply(_ change: StoreChange) {
        switch change {
        case .renew(let device, let outbox):
            expect(device != self.device, "renewed with the device that it has")
            self.device = device
            for name in rooms.keys {
                rooms[name]?.outbox = []
                rooms[name]?.next = 1
            }
            for row in outbox { queue(row) }
        case .queue(let row): queue(row)
        case .mark(let room, let cseq, let state):
            guard let place = place(of: cseq, in: room) else { return expect(false, "marked row \(cseq) of \(room), which is not there") }
            rooms[room]?.outbox[place].state = state
        case .remove(let room, let cseq):
            guard let place = place(of: cseq, in: room) else { return expect(false, "removed row \(cseq) of \(room), which is not there") }
            rooms[room]?.outbox.remove(at: place)
        case .append(let room, let epoch, let entries):
            let cursor = rooms[room]?.cursor ?? .nowhere
            expect(cursor.epoch == epoch, "appended to \(room) in epoch \(epoch), has \(cursor)")
            expect(entries.first?.seq == cursor.seq + 1, "appended \(entries.first?.seq ?? 0) to \(room) after \(cursor)")
            rooms[room, default: Room()].entries += entries
            rooms[room]?.cursor = LogPosition(epoch: epoch, seq: entries.last?.seq ?? cursor.seq)
            rooms[room]?.proof = nil
        case .replace(let room, let cursor, let entries):
            let old = rooms[room, default: Room()].cursor
            if old.epoch != cursor.epoch || cursor.seq < old.seq { rooms[room, default: Room()].read = 0 }
            rooms[room]?.proof = nil
            rooms[room]?.cursor = cursor
            rooms[room]?.entries = entries
            rooms[room]?.first = entries.first?.seq ?? cursor.seq + 1
        case .prepend(let room, let epoch, let entries):
            guard let first = entries.first, let last = entries.last, let stored = rooms[room] else {
                return expect(false, "prepended nothing to \(room)")
            }
            let touches = stored.cursor.epoch == epoch && last.seq == stored.first - 1
            // The store has dropped the entries that these were to touch.
            if !touches, stored.cursor.epoch == epoch, Int64(stored.entries.count) == limit { return }
            expect(touches, "prepended \(last.seq) to \(room) before \(stored.first)")
            rooms[room]?.entries = entries + stored.entries
            rooms[room]?.first = first.seq
        case .prove(let room, let proof): rooms[room]?.proof = proof
        case .read(let room, let seq):
            let old = rooms[room]?.read ?? 0
            rooms[room, default: Room()].read = max(old, seq)
        case .forget(let room):
            guard let old = rooms[room] else { return }
            rooms[room] = Room(next: old.next, outbox: old.outbox)
        }
    }

    private mutating func queue(_ row: OutboxRow) {
        let next = rooms[row.room]?.next ?? 1
        expect(row.publication.cseq == next, "queued \(row.publication.cseq) in \(row.room) where \(next) is next")
        rooms[row.room, default: Room()].outbox.append(row)
        rooms[row.room]?.next = row.publication.cseq + 1
    }

    private func place(of cseq: Int64, in room: RoomName) -> Int? {
        rooms[room]?.outbox.firstIndex { $0.publication.cseq == cseq }
    }
}
