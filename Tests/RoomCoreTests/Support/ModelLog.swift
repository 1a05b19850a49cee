import RoomCore

/// A correct log of a hub in memory.
///
/// It is a value, so a copy is what remains after a crash.
struct ModelLog {
    /// The outcome of an append.
    enum Outcome {
        /// It is written and reported as written.
        case written
        /// It is not written and is reported as possibly not written.
        case refused
        /// It is written but reported as possibly not written.
        case uncertain
    }
    struct Stored: Hashable {
        var epoch: UInt64
        var entries: [Entry] = []
        /// The number of the first retained entry.
        var base: Int64 = 1
        /// The stamp of the entry below the first retained one.
        var below: EntryStamp?
        var marks: [DeviceID: DeviceMark] = [:]
        var reads: [UserName: Int64] = [:]

        var head: Int64 { base - 1 + Int64(entries.count) }
    }
    private(set) var rooms: [RoomName: Stored] = [:]
    /// The outcomes of the next appends.
    ///
    /// When it is empty, appends are written.
    var outcomes: [Outcome] = []
    /// Whether rooms can be opened, marks looked up and entries read.
    var isReadable = true
    /// The numbers of entries that cannot be read.
    var damaged: Set<Int64> = []
    /// Every append that was written, to compare with the sent frames.
    private(set) var written: [RoomName: [(epoch: UInt64, record: LogRecord)]] = [:]
    private var epochs: UInt64

    /// - Parameter firstEpoch: The epoch of the first new room. Each later one gets another epoch.
    init(firstEpoch: UInt64 = 0xE0) { epochs = firstEpoch }

    /// Carries out an order and returns the answer, if the order has one.
    mutating func carryOut(_ order: LogOrder) -> LogReply? {
        switch order {
        case .open(let name):
            guard isReadable else { return .notOpened(name) }
            let room = rooms[name] ?? Stored(epoch: newEpoch())
            rooms[name] = room
            let reads = room.reads.sorted { $0.key < $1.key }.map { HubFrame.ReadMarker(user: $0.key, seq: $0.value) }
            let last = room.entries.last
            let stamp = damaged.contains(room.head) ? nil : last.map(EntryStamp.init) ?? room.below
            return .opened(
                name,
                LogHead(
                    epoch: room.epoch, head: room.head, base: room.base, reads: reads, last: last?.at ?? 0, lastStamp: stamp,
                    below: room.below))
        case .renew(let name):
            guard isReadable else { return .notOpened(name) }
            let epoch = newEpoch()
            rooms[name]?.epoch = epoch
            return carryOut(.open(name))
        case .recall(let name, let device):
            guard isReadable else { return .notRecalled(name, device) }
            return .recalled(name, device, rooms[name]?.marks[device] ?? owner(of: device))
        case .append(let name, let batch, let records):
            let outcome = outcomes.isEmpty ? .written : outcomes.removeFirst()
            if outcome != .refused { for record in records { write(record, to: name) } }
            return outcome == .written ? .appended(name, batch: batch) : .notAppended(name, batch: batch)
        case .fetchAfter(let number, let name, let seq, let limit, let bytes):
            guard isReadable, let room = rooms[name] else { return .notFetched(number) }
            let entries = room.entries.filter { $0.seq > seq }.prefix(Int(limit))
            return fetched(number, SimLog.page(entries, bytes: bytes), room)
        case .fetchBefore(let number, let name, let seq, let limit, let bytes):
            guard isReadable, let room = rooms[name] else { return .notFetched(number) }
            let entries = room.entries.filter { $0.seq < seq }.suffix(Int(limit)).reversed()
            return fetched(number, SimLog.page(entries, bytes: bytes).reversed(), room)
        case .find(let number, let name, let device, let cseq):
            guard isReadable else { return .notFetched(number) }
            return .found(number, rooms[name]?.entries.first { $0.device == device && $0.cseq == cseq }.map(FoundEntry.init))
        case .mark(let name, let user, let seq):
            let known = rooms[name]?.reads[user] ?? 0
            rooms[name]?.reads[user] = max(known, seq)
            return nil
        case .release: return nil
        }
    }

    private func fetched(_ number: Int64, _ entries: [Entry], _ room: Stored) -> LogReply {
        if entries.contains(where: { damaged.contains($0.seq) }) { return .notFetched(number, isDamaged: true) }
        return .fetched(number, entries, base: room.base, below: room.below)
    }

    /// The owner of a device, found in any room where it published.
    private func owner(of device: DeviceID) -> DeviceMark? {
        guard let mark = rooms.values.lazy.compactMap({ $0.marks[device] }).first else { return nil }
        return DeviceMark(high: 0, id: mark.id, user: mark.user, at: mark.at)
    }

    private mutating func write(_ record: LogRecord, to name: RoomName) {
        guard let room = rooms[name] else { return }
        written[name, default: []].append((room.epoch, record))
        switch record {
        case .entry(let entry):
            rooms[name]?.entries.append(entry)
            rooms[name]?.marks[entry.device] = DeviceMark(high: entry.cseq, id: entry.id, user: entry.user, at: entry.at)
        case .void(let device, let user, let cseq, let id, let at):
            rooms[name]?.marks[device] = DeviceMark(high: cseq, id: id, user: user, at: at)
        }
    }

    private mutating func newEpoch() -> UInt64 {
        epochs += 1
        return epochs
    }

    /// Keeps `count` entries, and returns what the hub would be told.
    mutating func trim(_ name: RoomName, to count: Int) -> LogReply? {
        guard let room = rooms[name], room.entries.count > count else { return nil }
        let gone = room.entries.count - count
        rooms[name]?.entries.removeFirst(gone)
        rooms[name]?.base += Int64(gone)
        let below = EntryStamp(room.entries[gone - 1])
        rooms[name]?.below = below
        return .trimmed(name, base: room.base + Int64(gone), below: below)
    }

    /// Removes the stamp of the last removed entry, which an earlier version did not store.
    mutating func forgetBelow(_ name: RoomName) { rooms[name]?.below = nil }

    /// Restores an earlier copy of the log, unnoticed.
    mutating func rewindUnseen(to earlier: ModelLog) { rooms = earlier.rooms }

    /// Restores an earlier copy of the log under new epochs.
    mutating func rewind(to earlier: ModelLog) {
        rooms = earlier.rooms
        for name in rooms.keys.sorted() {
            let epoch = newEpoch()
            rooms[name]?.epoch = epoch
        }
    }
}
