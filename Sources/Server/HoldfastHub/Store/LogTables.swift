import RoomCore
import RoomsStorage

/// The row of a room.
struct RoomRow {
    /// The row number; 0: the room is not stored, because nothing was written in it.
    var number: Int64
    var head: LogHead
    var bytes: Int64

    /// The number of retained entries.
    var count: Int64 { head.head - head.base + 1 }
}

extension RoomRow {
    /// Reads a row from the columns `id, epoch, head, base, bytes`.
    init(_ row: SQLiteStatement, below: EntryStamp? = nil) {
        (number, bytes) = (row.number(0), row.number(4))
        head = LogHead(epoch: UInt64(bitPattern: row.number(1)), head: row.number(2), base: row.number(3), reads: [], below: below)
    }
}

/// The row of a device in a room.
struct DeviceRow {
    var number: Int64
    var mark: DeviceMark
}

/// The SQL statements that read a log, of one connection.
final class LogTables {
    let connection: SQLiteConnection
    private let room, reads, device, owner, after, before, numbered: SQLiteStatement

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

    /// Returns a room without its read markers.
    func room(_ name: RoomName) throws(SQLiteFailure) -> RoomRow? {
        try room.first(name.text) { RoomRow($0, below: EntryStamp(stored: $0.bytes(5))) }
    }

    /// Returns the read markers of a room, ordered by user.
    func reads(room number: Int64) throws(SQLiteFailure) -> [HubFrame.ReadMarker] {
        try reads.rows(number) { row throws(SQLiteFailure) in
            guard let user = UserName(row.text(0)) else { throw .damaged("a read marker without a user") }
            return HubFrame.ReadMarker(user: user, seq: row.number(1))
        }
    }

    func device(_ id: DeviceID, room number: Int64) throws(SQLiteFailure) -> DeviceRow? {
        try device.first(number, StoredEntry.bytes(of: id.bits)) { row throws(SQLiteFailure) in
            guard let message = StoredEntry.bits(row.bytes(2)), let user = UserName(row.text(3)) else {
                throw .damaged("the mark of a device")
            }
            let mark = DeviceMark(high: row.number(1), id: MessageID(message), user: user, at: row.number(4))
            return DeviceRow(number: row.number(0), mark: mark)
        }
    }

    /// Returns the owner of a device, from its publications in any room; nil if none is remembered.
    ///
    /// The first row decides. So if two users have published with one device, as older logs allow, one of them is the owner in all other
    /// rooms.
    func owner(of id: DeviceID) throws(SQLiteFailure) -> DeviceMark? {
        try owner.first(StoredEntry.bytes(of: id.bits)) { row throws(SQLiteFailure) in
            guard let user = UserName(row.text(0)) else { throw .damaged("the owner of a device") }
            return DeviceMark(high: 0, id: MessageID(Bits128(high: 0, low: 0)), user: user, at: row.number(1))
        }
    }

    /// Returns the entries of a room after a sequence number: at least one if there is one, and as many more as fit.
    func entries(room number: Int64, after seq: Int64, limit: Int64, bytes: Int64) throws(SQLiteFailure) -> [Entry] {
        try page(after, LogSchema.place(room: number, seq: seq), LogSchema.place(room: number, seq: .max), limit, bytes: bytes)
    }

    /// Returns the last entries of a room before a sequence number, in order: at least one if there is one, and as many more as fit.
    func entries(room number: Int64, before seq: Int64, limit: Int64, bytes: Int64) throws(SQLiteFailure) -> [Entry] {
        try page(before, LogSchema.place(room: number, seq: seq), LogSchema.place(room: number, seq: 0), limit, bytes: bytes).reversed()
    }

    private func page(
        _ statement: SQLiteStatement, _ from: Int64, _ to: Int64, _ limit: Int64, bytes: Int64
    ) throws(SQLiteFailure) -> [Entry] {
        var (entries, left): ([Entry], Int64) = ([], bytes)
        try statement.read(from, to, max(limit, 0)) { row throws(SQLiteFailure) in
            let body = row.bytes(1)
            left -= Int64(body.count)
            if left < 0, !entries.isEmpty { return false }
            entries.append(try Self.entry(body, place: row.number(0)))
            return true
        }
        return entries
    }

    /// Returns the entry with a device's number; it reads only the entry's head, however long the entry is.
    func entry(sender number: Int64, of device: DeviceID, cseq: Int64) throws(SQLiteFailure) -> FoundEntry? {
        try numbered.first(number, cseq) { row throws(SQLiteFailure) in
            let place = row.number(0)
            guard let head = StoredEntry.head(of: row.bytes(1)), head.device == device else { throw .damaged("an entry at \(place)") }
            return FoundEntry(seq: place & LogSchema.greatestSeq, at: head.at, id: head.id)
        }
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

/// The stored form: ID, device, sequence number of the device and time, in 48 bytes, most significant byte first.
extension EntryStamp {
    var bytes: [UInt8] {
        [id.bits, device.bits, Bits128(high: UInt64(bitPattern: cseq), low: UInt64(bitPattern: at))].flatMap { StoredEntry.bytes(of: $0) }
    }

    /// Decodes a stored stamp; nil if there is none or it is invalid.
    init?(stored bytes: UnsafeRawBufferPointer) {
        func bits(_ place: Int) -> Bits128? {
            StoredEntry.bits(UnsafeRawBufferPointer(rebasing: bytes[place..<place + 16]))
        }
        guard bytes.count == 48, let id = bits(0), let device = bits(16), let rest = bits(32) else { return nil }
        self.init(
            id: MessageID(id), device: DeviceID(device), cseq: Int64(bitPattern: rest.high), at: Int64(bitPattern: rest.low))
    }
}
