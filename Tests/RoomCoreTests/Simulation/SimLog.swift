import RoomCore

/// The log of the simulated hub, as it is on disk.
struct SimLog {
    struct Room {
        var epoch: UInt64
        /// All entries of this epoch.
        ///
        /// The hub no longer has those below `base`.
        var entries: [Entry] = []
        var base: Int64 = 1
        var marks: [DeviceID: DeviceMark] = [:]
        var reads: [UserName: Int64] = [:]
        /// An append has failed, so the contents are unknown to the hub until the room is opened again.
        var isDoubtful = false
        /// The hub has opened the room since its last start.
        var isOpen = false

        var head: Int64 { Int64(entries.count) }
        /// The stamp of the entry below `base`.
        var below: EntryStamp? { base > 1 ? EntryStamp(entries[Int(base) - 2]) : nil }
        var retained: ArraySlice<Entry> { entries[min(Int(base) - 1, entries.count)...] }

        /// Whether all entries of a client's store are here at their positions.
        func holds(_ stored: SimStore.Room) -> Bool {
            guard stored.cursor.epoch == epoch, let last = stored.entries.last else { return stored.entries.isEmpty }
            return last.seq <= head && entries[Int(stored.first - 1)..<Int(last.seq)].elementsEqual(stored.entries) { $0.id == $1.id }
        }
    }
    var rooms: [RoomName: Room] = [:]
    /// The log's time.
    ///
    /// Device marks are forgotten by it.
    var clock = LogClock()
    private(set) var faults: [String] = []

    /// Whether no message has been stored yet.
    var holdsNothing: Bool { rooms.values.allSatisfy(\.marks.isEmpty) }

    mutating func takeFaults() -> [String] {
        defer { faults = [] }
        return faults
    }

    /// The hub that used the log has ended.
    mutating func close() {
        for name in rooms.keys { close(name) }
    }

    /// A room without writes is not stored.
    ///
    /// It gets another epoch when it is opened again.
    private mutating func close(_ name: RoomName) {
        guard var room = rooms[name] else { return }
        (room.isOpen, room.isDoubtful) = (false, false)
        rooms[name] = room.head == 0 && room.marks.isEmpty && room.reads.isEmpty ? nil : room
    }

    /// Restores an older copy of a room's log, under a new epoch or, unnoticed, under its own.
    mutating func rewind(_ name: RoomName, to copy: Room, epoch: UInt64? = nil) {
        var room = copy
        (room.epoch, room.isOpen, room.isDoubtful) = (epoch ?? copy.epoch, false, false)
        rooms[name] = room
    }

    /// Carries out an order and returns the answer, if the order has one.
    ///
    /// - Parameter epoch: The epoch for a new room.
    mutating func carryOut(_ order: LogOrder, epoch: @autoclosure () -> UInt64) -> LogReply? {
        switch order {
        case .open(let name):
            var room = rooms[name] ?? Room(epoch: epoch())
            (room.isOpen, room.isDoubtful) = (true, false)
            rooms[name] = room
            let reads = room.reads.sorted { $0.key < $1.key }.map { HubFrame.ReadMarker(user: $0.key, seq: $0.value) }
            let last = room.entries.last?.at ?? 0
            return .opened(
                name,
                LogHead(
                    epoch: room.epoch, head: room.head, base: room.base, reads: reads, last: last,
                    lastStamp: room.entries.last.map(EntryStamp.init), below: room.below))
        case .renew(let name):
            check(name, order)
            rooms[name]?.epoch = epoch()
            return carryOut(.open(name), epoch: epoch())
        case .recall(let name, let device):
            check(name, order)
            var mark = rooms[name]?.marks[device]
            if let known = mark, isForgotten(known) { mark = nil }
            return .recalled(name, device, mark ?? owner(of: device))
        case .append(let name, let batch, let records):
            check(name, order)
            guard rooms[name]?.isDoubtful == false else { return .notAppended(name, batch: batch) }
            for record in records { append(record, to: name) }
            return .appended(name, batch: batch)
        case .fetchAfter(let number, let name, let seq, let limit, let bytes):
            check(name, order)
            guard let room = rooms[name] else { return .notFetched(number) }
            let entries = room.retained.filter { $0.seq > seq }.prefix(Int(limit))
            return .fetched(number, Self.page(entries, bytes: bytes), base: room.base, below: room.below)
        case .fetchBefore(let number, let name, let seq, let limit, let bytes):
            check(name, order)
            guard let room = rooms[name] else { return .notFetched(number) }
            let entries = room.retained.filter { $0.seq < seq }.suffix(Int(limit)).reversed()
            return .fetched(number, Self.page(entries, bytes: bytes).reversed(), base: room.base, below: room.below)
        case .find(let number, let name, let device, let cseq):
            check(name, order)
            return .found(number, rooms[name]?.retained.first { $0.device == device && $0.cseq == cseq }.map(FoundEntry.init))
        case .mark(let name, let user, let seq):
            check(name, order)
            let old = rooms[name]?.reads[user] ?? 0
            rooms[name]?.reads[user] = max(old, seq)
            return nil
        case .release(let name):
            check(name, order)
            close(name)
            return nil
        }
    }

    /// The owner of a device, found in any room where it published.
    private func owner(of device: DeviceID) -> DeviceMark? {
        guard let mark = rooms.values.lazy.compactMap({ $0.marks[device] }).first(where: { !isForgotten($0) }) else {
            return nil
        }
        return DeviceMark(high: 0, id: mark.id, user: mark.user, at: mark.at)
    }

    /// Whether a device was silent for longer than its messages are accepted.
    private func isForgotten(_ mark: DeviceMark) -> Bool {
        clock.doubt == nil && mark.at < clock.time - RoomsLimits.window - RoomsLimits.future
    }

    private mutating func check(_ name: RoomName, _ order: LogOrder) {
        if rooms[name]?.isOpen != true { faults.append("the hub asks of \(name), which it has not opened: \(order)") }
    }

    private mutating func append(_ record: LogRecord, to name: RoomName) {
        guard let room = rooms[name] else { return }
        switch record {
        case .entry(let entry):
            if entry.seq != room.head + 1 { faults.append("\(entry.seq) was appended to \(name) after \(room.head)") }
            if let last = room.entries.last, entry.at < last.at { faults.append("\(entry.seq) of \(name) was stored before \(last.seq)") }
            raise(name, entry.device, DeviceMark(high: entry.cseq, id: entry.id, user: entry.user, at: entry.at))
            rooms[name]?.entries.append(entry)
        case .void(let device, let user, let cseq, let id, let at):
            raise(name, device, DeviceMark(high: cseq, id: id, user: user, at: at))
        }
    }

    private mutating func raise(_ name: RoomName, _ device: DeviceID, _ mark: DeviceMark) {
        let old = rooms[name]?.marks[device]?.high ?? 0
        // A forgotten mark starts again.
        if let known = rooms[name]?.marks[device], isForgotten(known) {
        } else if mark.high != old + 1 {
            faults.append("number \(mark.high) of a device was appended to \(name) after \(old)")
        }
        rooms[name]?.marks[device] = mark
    }
}
