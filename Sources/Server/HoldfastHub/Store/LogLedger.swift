import GRDBSQLite
import RoomCore
import RoomsStorage

/// The statements that write a log; one connection's.
final class LogLedger {
    let tables: LogTables
    var connection: SQLiteConnection { tables.connection }
    let begin: SQLiteStatement
    private let insertRoom: SQLiteStatement
    private let deleteRoom: SQLiteStatement
    private let updateRoom: SQLiteStatement
    private let trimRoom: SQLiteStatement
    private let renewRoom: SQLiteStatement
    private let insertEntry: SQLiteStatement
    private let insertDevice: SQLiteStatement
    private let updateDevice: SQLiteStatement
    private let upsertRead: SQLiteStatement
    private let countCommit: SQLiteStatement
    private let someRooms: SQLiteStatement
    private let someDevices: SQLiteStatement
    private let first: SQLiteStatement
    private let deleteEntries: SQLiteStatement
    private let deleteDevice: SQLiteStatement
    private var buffer: [UInt8] = []

    init(_ connection: SQLiteConnection) throws(SQLiteFailure) {
        tables = try LogTables(connection)
        begin = try connection.prepare("BEGIN IMMEDIATE")
        insertRoom = try connection.prepare("INSERT INTO rooms (name, epoch, head, base, bytes) VALUES (?, ?, 0, 1, 0)")
        deleteRoom = try connection.prepare("DELETE FROM rooms WHERE id = ?")
        updateRoom = try connection.prepare("UPDATE rooms SET head = ?, base = ?, bytes = ? WHERE id = ?")
        trimRoom = try connection.prepare("UPDATE rooms SET base = ?, bytes = ?, below = ? WHERE id = ?")
        renewRoom = try connection.prepare("UPDATE rooms SET epoch = ? WHERE id = ?")
        insertEntry = try connection.prepare("INSERT INTO entries (place, sender, cseq, body) VALUES (?, ?, ?, ?)")
        insertDevice = try connection.prepare("INSERT INTO devices (room, device, high, message, user, at) VALUES (?, ?, ?, ?, ?, ?)")
        updateDevice = try connection.prepare("UPDATE devices SET high = ?, message = ?, user = ?, at = ? WHERE id = ?")
        upsertRead = try connection.prepare(
            "INSERT INTO reads (room, user, seq) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET seq = max(seq, excluded.seq)")
        countCommit = try connection.prepare("UPDATE meta SET value = ? WHERE name = 'commits'")
        someRooms = try connection.prepare("SELECT id, epoch, head, base, bytes, name FROM rooms WHERE id > ? ORDER BY id LIMIT ?")
        someDevices = try connection.prepare(
            "SELECT id, at, high = 1 AND (device = message OR substr(device, 1, \(PublicationNames.prefixLength)) = ?) FROM devices"
                + " WHERE id > ? ORDER BY id LIMIT ?")
        first = try connection.prepare("SELECT body FROM entries WHERE place >= ? AND place <= ? ORDER BY place LIMIT ?")
        deleteEntries = try connection.prepare("DELETE FROM entries WHERE place >= ? AND place < ?")
        deleteDevice = try connection.prepare("DELETE FROM devices WHERE id = ?")
    }

    /// The number of a new room; nil if there are too many.
    func insert(_ room: RoomName, epoch: UInt64) throws(SQLiteFailure) -> Int64? {
        insertRoom.bind(1, room.text).bind(2, Int64(bitPattern: epoch))
        try insertRoom.run()
        let number = connection.lastRow
        if number <= LogSchema.greatestRoom { return number }
        deleteRoom.bind(1, number)
        try deleteRoom.run()
        return nil
    }

    /// How many bytes it takes.
    func insert(_ entry: Entry, room: Int64, sender: Int64) throws(SQLiteFailure) -> Int {
        buffer.removeAll(keepingCapacity: true)
        StoredEntry.encode(entry, isSealed: true, into: &buffer)
        insertEntry.bind(1, LogSchema.place(room: room, seq: entry.seq)).bind(2, sender).bind(3, entry.cseq)
        try insertEntry.run(with: buffer, at: 4)
        return buffer.count
    }

    /// The number of the new row.
    func insert(_ mark: DeviceMark, of device: DeviceID, room: Int64) throws(SQLiteFailure) -> Int64 {
        insertDevice.bind(1, room).bind(2, StoredEntry.bytes(of: device.bits)).bind(3, mark.high)
            .bind(4, StoredEntry.bytes(of: mark.id.bits)).bind(5, mark.user.text).bind(6, mark.at)
        try insertDevice.run()
        return connection.lastRow
    }

    func update(_ row: DeviceRow) throws(SQLiteFailure) {
        updateDevice.bind(1, row.mark.high).bind(2, StoredEntry.bytes(of: row.mark.id.bits)).bind(3, row.mark.user.text)
            .bind(4, row.mark.at).bind(5, row.number)
        try updateDevice.run()
        guard connection.changes == 1 else { throw .damaged("the mark of a device is gone") }
    }

    func update(_ row: RoomRow) throws(SQLiteFailure) {
        updateRoom.bind(1, row.head.head).bind(2, row.head.base).bind(3, row.bytes).bind(4, row.number)
        try updateRoom.run()
    }

    /// Writes where a room begins now, and what the entry below that was.
    func trim(_ row: RoomRow) throws(SQLiteFailure) {
        trimRoom.bind(1, row.head.base).bind(2, row.bytes).bind(4, row.number)
        if let below = row.head.below { trimRoom.bind(3, below.bytes) } else { trimRoom.bindNothing(3) }
        try trimRoom.run()
    }

    /// Writes another epoch of a room.
    func renew(_ row: RoomRow) throws(SQLiteFailure) {
        renewRoom.bind(1, Int64(bitPattern: row.head.epoch)).bind(2, row.number)
        try renewRoom.run()
    }

    /// Writes the number of the transaction that is open.
    func count(commit number: Int64) throws(SQLiteFailure) {
        countCommit.bind(1, number)
        try countCommit.run()
        guard connection.changes == 1 else { throw .damaged("the number of transactions is gone") }
    }

    /// The number of the last transaction.
    func commits() throws(SQLiteFailure) -> Int64 { try connection.number("SELECT value FROM meta WHERE name = 'commits'") ?? -1 }

    /// The log's clock, as it was written last; one that was never written goes on from the last publication.
    func clock() throws(SQLiteFailure) -> LogClock {
        func number(_ name: String) throws(SQLiteFailure) -> Int64? {
            try connection.number("SELECT value FROM meta WHERE name = '\(name)'")
        }
        if let time = try number("time") {
            var record = LogClock.Record(time: time, expected: try number("expected") ?? time, risen: try number("risen") ?? LogClock.youth)
            (record.doubted, record.candidate) = (try number("doubted") ?? 0, try number("candidate") ?? 0)
            record.stood = try number("stood") ?? 0
            return LogClock(record)
        }
        guard try !holdsNothing() else { return LogClock() }
        // The calendar may have been wrong when that was stored: no log begins in the future.
        let last = min(try connection.number("SELECT max(at) FROM devices") ?? 0, HubCalendar.now)
        return LogClock(.init(time: last, expected: last))
    }

    /// Whether nobody has published anything that is known yet.
    func holdsNothing() throws(SQLiteFailure) -> Bool { try connection.number("SELECT 1 FROM devices LIMIT 1") == nil }

    /// Writes what the log's clock says.
    func write(_ clock: LogClock.Record) throws(SQLiteFailure) {
        try connection.run(
            """
            INSERT INTO meta (name, value) VALUES ('time', \(clock.time)), ('expected', \(clock.expected)), ('risen', \(clock.risen)),
                ('doubted', \(clock.doubted)), ('candidate', \(clock.candidate)), ('stood', \(clock.stood))
                ON CONFLICT DO UPDATE SET value = excluded.value
            """)
    }

    func mark(_ user: UserName, upTo seq: Int64, room: Int64) throws(SQLiteFailure) {
        upsertRead.bind(1, room).bind(2, user.text).bind(3, seq)
        try upsertRead.run()
    }
}

extension LogLedger {
    /// Some rooms by their numbers.
    func rooms(after number: Int64, limit: Int) throws(SQLiteFailure) -> [(RoomName, RoomRow)] {
        someRooms.bind(1, number).bind(2, Int64(limit))
        defer { someRooms.reset() }
        var rooms: [(RoomName, RoomRow)] = []
        while try someRooms.step() {
            guard let name = RoomName(someRooms.text(5)) else { throw .damaged("a room without a name") }
            let head = LogHead(
                epoch: UInt64(bitPattern: someRooms.number(1)), head: someRooms.number(2), base: someRooms.number(3), reads: [])
            rooms.append((name, RoomRow(number: someRooms.number(0), head: head, bytes: someRooms.number(4))))
        }
        return rooms
    }

    /// Some devices by their numbers, when they published last, and whether they stand for one publication of a program.
    ///
    /// - Parameter names: What such devices begin with; those of earlier versions were the name itself.
    func devices(after number: Int64, limit: Int, names: [UInt8]) throws(SQLiteFailure) -> [(number: Int64, at: Int64, isName: Bool)] {
        someDevices.bind(1, names).bind(2, number).bind(3, Int64(limit))
        defer { someDevices.reset() }
        var devices: [(Int64, Int64, Bool)] = []
        while try someDevices.step() { devices.append((someDevices.number(0), someDevices.number(1), someDevices.number(2) != 0)) }
        return devices
    }

    /// Goes through the oldest entries of a room, their bytes and their times, as long as more are wanted.
    func oldest(_ row: RoomRow, limit: Int, _ wantsMore: (_ size: Int, _ at: Int64) -> Bool) throws(SQLiteFailure) {
        first.bind(1, LogSchema.place(room: row.number, seq: row.head.base))
            .bind(2, LogSchema.place(room: row.number, seq: row.head.head)).bind(3, Int64(limit))
        defer { first.reset() }
        while try first.step() {
            let body = first.bytes(0)
            guard let at = StoredEntry.time(of: body) else { throw .damaged("an entry of room \(row.number)") }
            guard wantsMore(body.count, at) else { return }
        }
    }

    /// When an entry of a room was stored, in milliseconds since 1970 UTC, and what it was; nil if it is not there.
    func entry(_ seq: Int64, of row: RoomRow) throws(SQLiteFailure) -> (at: Int64, stamp: EntryStamp?)? {
        guard row.number != 0 else { return nil }
        let place = LogSchema.place(room: row.number, seq: seq)
        first.bind(1, place).bind(2, place).bind(3, 1)
        defer { first.reset() }
        guard try first.step() else { return nil }
        // Of a damaged one it is not told what it was; the room may be written all the same.
        return (StoredEntry.time(of: first.bytes(0)) ?? 0, StoredEntry.decode(first.bytes(0), seq: seq).map(EntryStamp.init))
    }

    func delete(_ row: RoomRow, below base: Int64) throws(SQLiteFailure) {
        deleteEntries.bind(1, LogSchema.place(room: row.number, seq: row.head.base))
            .bind(2, LogSchema.place(room: row.number, seq: base))
        try deleteEntries.run()
    }

    func forget(device number: Int64) throws(SQLiteFailure) {
        deleteDevice.bind(1, number)
        try deleteDevice.run()
    }
}
