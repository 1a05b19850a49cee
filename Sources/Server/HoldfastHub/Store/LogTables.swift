import RoomCore
import RoomsStorage

/// What a log's row says of a room.
struct RoomRow {
    /// 0: it is not stored, for nothing was written in it.
    var number: Int64
    var head: LogHead
    var bytes: Int64

    /// How many entries are retained.
    var count: Int64 { head.head - head.base + 1 }
}

/// What a log's row says of a device in a room.
struct DeviceRow {
    var number: Int64
    var mark: DeviceMark
}

/// What is read out of a log's tables; one connection's.
final class LogTables {
    let connection: SQLiteConnection
    private let room: SQLiteStatement
    private let reads: SQLiteStatement
    private let device: SQLiteStatement
    private let owner: SQLiteStatement
    private let after: SQLiteStatement
    private let before: SQLiteStatement
    private let numbered: SQLiteStatement

    init(_ connection: SQLiteConnection) throws(SQLiteFailure) {
        self.connection = connection
        room = try connection.prepare("SELECT id, epoch, head, base, bytes, below FROM rooms WHERE name = ?")
        reads = try connection.prepare("SELECT user, seq FROM reads WHERE room = ? ORDER BY user")
        device = try connection.prepare("SELECT id, high, message, user, at FROM devices WHERE room = ? AND device = ?")
        owner = try connection.prepare("SELECT user, at FROM devices WHERE device = ? ORDER BY id LIMIT 1")
        after = try connection.prepare("SELECT place, body FROM entries WHERE place > ? AND place <= ? ORDER BY place LIMIT ?")
        before = try connection.prepare("SELECT place, body FROM entries WHERE place < ? AND place >= ? ORDER BY place DESC LIMIT ?")
        numbered = try connection.prepare(
            "SELECT place, substr(body, 1, \(StoredEntry.headLength)) FROM entries WHERE sender = ? AND cseq = ?")
    }

    /// A room without its read markers.
    func room(_ name: RoomName) throws(SQLiteFailure) -> RoomRow? {
        room.bind(1, name.text)
        defer { room.reset() }
        guard try room.step() else { return nil }
        let head = LogHead(
            epoch: UInt64(bitPattern: room.number(1)), head: room.number(2), base: room.number(3), reads: [],
            below: EntryStamp(stored: room.bytes(5)))
        return RoomRow(number: room.number(0), head: head, bytes: room.number(4))
    }

    /// How far the users of a room have read, by their names.
    func reads(room number: Int64) throws(SQLiteFailure) -> [HubFrame.ReadMarker] {
        reads.bind(1, number)
        defer { reads.reset() }
        var markers: [HubFrame.ReadMarker] = []
        while try reads.step() {
            guard let user = UserName(reads.text(0)) else { throw .damaged("a read marker of nobody") }
            markers.append(HubFrame.ReadMarker(user: user, seq: reads.number(1)))
        }
        return markers
    }

    func device(_ id: DeviceID, room number: Int64) throws(SQLiteFailure) -> DeviceRow? {
        device.bind(1, number).bind(2, StoredEntry.bytes(of: id.bits))
        defer { device.reset() }
        guard try device.step() else { return nil }
        guard let message = StoredEntry.bits(device.bytes(2)), let user = UserName(device.text(3)) else {
            throw .damaged("the mark of a device")
        }
        let mark = DeviceMark(high: device.number(1), id: MessageID(message), user: user, at: device.number(4))
        return DeviceRow(number: device.number(0), mark: mark)
    }

    /// Whose a device is, by what it has published in any room; nil if nothing of that is remembered.
    ///
    /// Its first row says it, so that of two users who both have one, as older logs allow, one is the owner everywhere else.
    func owner(of id: DeviceID) throws(SQLiteFailure) -> DeviceMark? {
        owner.bind(1, StoredEntry.bytes(of: id.bits))
        defer { owner.reset() }
        guard try owner.step() else { return nil }
        guard let user = UserName(owner.text(0)) else { throw .damaged("the owner of a device") }
        return DeviceMark(high: 0, id: MessageID(Bits128(high: 0, low: 0)), user: user, at: owner.number(1))
    }

    /// The entries of a room after a number: one at least if there is one, as many more as fit.
    func entries(room number: Int64, after seq: Int64, limit: Int64, bytes: Int64) throws(SQLiteFailure) -> [Entry] {
        after.bind(1, LogSchema.place(room: number, seq: seq)).bind(2, LogSchema.place(room: number, seq: .max)).bind(3, max(limit, 0))
        return try page(after, bytes: bytes)
    }

    /// The last entries of a room before a number, in order: one at least if there is one, as many more as fit.
    func entries(room number: Int64, before seq: Int64, limit: Int64, bytes: Int64) throws(SQLiteFailure) -> [Entry] {
        before.bind(1, LogSchema.place(room: number, seq: seq)).bind(2, LogSchema.place(room: number, seq: 0)).bind(3, max(limit, 0))
        return try page(before, bytes: bytes).reversed()
    }

    private func page(_ statement: SQLiteStatement, bytes: Int64) throws(SQLiteFailure) -> [Entry] {
        defer { statement.reset() }
        var (entries, left): ([Entry], Int64) = ([], bytes)
        while try statement.step() {
            let body = statement.bytes(1)
            left -= Int64(body.count)
            if left < 0, !entries.isEmpty { break }
            entries.append(try Self.entry(body, place: statement.number(0)))
        }
        return entries
    }

    /// What is stored under a device's number: only the head of it is looked at, however long it is.
    func entry(sender number: Int64, of device: DeviceID, cseq: Int64) throws(SQLiteFailure) -> FoundEntry? {
        numbered.bind(1, number).bind(2, cseq)
        defer { numbered.reset() }
        guard try numbered.step() else { return nil }
        let place = numbered.number(0)
        guard let head = StoredEntry.head(of: numbered.bytes(1)), head.device == device else { throw .damaged("an entry at \(place)") }
        return FoundEntry(seq: place & LogSchema.greatestSeq, at: head.at, id: head.id)
    }

    static func entry(_ body: UnsafeRawBufferPointer, place: Int64) throws(SQLiteFailure) -> Entry {
        guard let entry = StoredEntry.decode(body, seq: place & LogSchema.greatestSeq) else { throw .damaged("an entry at \(place)") }
        return entry
    }
}

extension LogTables {
    /// Carries out an order that only reads.
    func carryOut(_ order: LogOrder) throws(SQLiteFailure) -> LogReply? {
        switch order {
        case .recall(let name, let id):
            if let row = try room(name), let known = try device(id, room: row.number) { return .recalled(name, id, known.mark) }
            return .recalled(name, id, try owner(of: id))
        case .fetchAfter(let number, let name, let seq, let limit, let bytes):
            guard let row = try room(name) else { return .fetched(number, [], base: 1) }
            return .fetched(
                number, try entries(room: row.number, after: seq, limit: limit, bytes: bytes), base: row.head.base, below: row.head.below)
        case .fetchBefore(let number, let name, let seq, let limit, let bytes):
            guard let row = try room(name) else { return .fetched(number, [], base: 1) }
            return .fetched(
                number, try entries(room: row.number, before: seq, limit: limit, bytes: bytes), base: row.head.base, below: row.head.below)
        case .find(let number, let name, let id, let cseq):
            guard let row = try room(name), let sender = try device(id, room: row.number) else { return .found(number, nil) }
            return .found(number, try entry(sender: sender.number, of: id, cseq: cseq))
        case .open, .renew, .append, .mark, .release: return nil
        }
    }
}
