import RoomCore
import RoomsStorage
import WebSocketRuntime

/// The SQL statements that write a log, of one connection.
final class LogStatements {
    let tables: LogTables
    var connection: SQLiteConnection { tables.connection }
    let begin: SQLiteStatement
    private let insertRoom, deleteRoom, updateRoom, trimRoom, renewRoom, someRooms, countCommit, upsertRead: SQLiteStatement
    private let insertEntry, deleteEntries, first, insertDevice, updateDevice, deleteDevice, someDevices: SQLiteStatement
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

    /// Inserts a room and returns its row number; nil if there are too many rooms.
    func insert(_ room: RoomName, epoch: UInt64) throws(SQLiteFailure) -> Int64? {
        try insertRoom.run(room.text, Int64(bitPattern: epoch))
        let number = connection.lastRow
        if number <= LogSchema.greatestRoom { return number }
        try deleteRoom.run(number)
        return nil
    }

    /// Inserts an entry and returns its size in bytes.
    func insert(_ entry: Entry, room: Int64, sender: Int64) throws(SQLiteFailure) -> Int {
        buffer.removeAll(keepingCapacity: true)
        StoredEntry.encode(entry, isSealed: true, into: &buffer)
        try insertEntry.run(LogSchema.place(room: room, seq: entry.seq), sender, entry.cseq, bytes: buffer)
        return buffer.count
    }

    /// Inserts a device and returns its row number.
    func insert(_ mark: DeviceMark, of device: DeviceID, room: Int64) throws(SQLiteFailure) -> Int64 {
        let (device, id) = (StoredEntry.bytes(of: device.bits), StoredEntry.bytes(of: mark.id.bits))
        try insertDevice.run(room, device, mark.high, id, mark.user.text, mark.at)
        return connection.lastRow
    }

    func update(_ row: DeviceRow) throws(SQLiteFailure) {
        try updateDevice.run(row.mark.high, StoredEntry.bytes(of: row.mark.id.bits), row.mark.user.text, row.mark.at, row.number)
        guard connection.changes == 1 else { throw .damaged("the mark of a device is gone") }
    }

    func update(_ row: RoomRow) throws(SQLiteFailure) {
        try updateRoom.run(row.head.head, row.head.base, row.bytes, row.number)
    }

    /// Writes the new start of a room, and the stamp of the entry below it.
    func trim(_ row: RoomRow) throws(SQLiteFailure) {
        try trimRoom.run(row.head.base, row.bytes, row.head.below?.bytes, row.number)
    }

    /// Writes the new epoch of a room.
    func renew(_ row: RoomRow) throws(SQLiteFailure) {
        try renewRoom.run(Int64(bitPattern: row.head.epoch), row.number)
    }

    /// Writes the number of the open transaction.
    func count(commit number: Int64) throws(SQLiteFailure) {
        try countCommit.run(number)
        guard connection.changes == 1 else { throw .damaged("the number of transactions is gone") }
    }

    /// Returns the number of the last transaction.
    func commits() throws(SQLiteFailure) -> Int64 { try connection.number("SELECT value FROM meta WHERE name = 'commits'") ?? -1 }

    /// Returns the stored clock of the log; a clock that was never stored continues from the last publication.
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
        // The system clock may have been wrong at that time; so the log never starts in the future.
        let last = min(try connection.number("SELECT max(at) FROM devices") ?? 0, WallClock.milliseconds)
        return LogClock(.init(time: last, expected: last))
    }

    /// Returns whether the log knows no publications.
    func holdsNothing() throws(SQLiteFailure) -> Bool { try connection.number("SELECT 1 FROM devices LIMIT 1") == nil }

    /// Writes the log's clock.
    func write(_ clock: LogClock.Record) throws(SQLiteFailure) {
        try connection.run(
            """
            INSERT INTO meta (name, value) VALUES ('time', \(clock.time)), ('expected', \(clock.expected)), ('risen', \(clock.risen)),
                ('doubted', \(clock.doubted)), ('candidate', \(clock.candidate)), ('stood', \(clock.stood))
                ON CONFLICT DO UPDATE SET value = excluded.value
            """)
    }

    func mark(_ user: UserName, upTo seq: Int64, room: Int64) throws(SQLiteFailure) { try upsertRead.run(room, user.text, seq) }
}

extension LogStatements {
    /// Returns some rooms, ordered by row number.
    func rooms(after number: Int64, limit: Int) throws(SQLiteFailure) -> [(RoomName, RoomRow)] {
        try someRooms.rows(number, Int64(limit)) { row throws(SQLiteFailure) in
            guard let name = RoomName(row.text(5)) else { throw .damaged("a room without a name") }
            return (name, RoomRow(row))
        }
    }

    /// Returns some devices, ordered by row number, with their last publication and whether they stand for one named publication.
    ///
    /// - Parameter names: The prefix of such devices; in earlier versions, the device was the ID itself.
    func devices(after number: Int64, limit: Int, names: [UInt8]) throws(SQLiteFailure) -> [(number: Int64, at: Int64, isName: Bool)] {
        try someDevices.rows(names, number, Int64(limit)) { ($0.number(0), $0.number(1), $0.number(2) != 0) }
    }

    /// Reads the oldest entries of a room, with their sizes and times, as long as `wantsMore` returns true.
    func oldest(_ row: RoomRow, limit: Int, _ wantsMore: (_ size: Int, _ at: Int64) -> Bool) throws(SQLiteFailure) {
        let (base, head) = (LogSchema.place(room: row.number, seq: row.head.base), LogSchema.place(room: row.number, seq: row.head.head))
        try first.read(base, head, Int64(limit)) { entry throws(SQLiteFailure) in
            let body = entry.bytes(0)
            guard let at = StoredEntry.time(of: body) else { throw .damaged("an entry of room \(row.number)") }
            return wantsMore(body.count, at)
        }
    }

    /// Returns when an entry was stored, in milliseconds since 1970 UTC, and its stamp; nil if there is no such entry.
    func entry(_ seq: Int64, of row: RoomRow) throws(SQLiteFailure) -> (at: Int64, stamp: EntryStamp?)? {
        guard row.number != 0 else { return nil }
        let place = LogSchema.place(room: row.number, seq: seq)
        // A damaged entry has no stamp; the room can still be written.
        return try first.first(place, place, Int64(1)) {
            (StoredEntry.time(of: $0.bytes(0)) ?? 0, StoredEntry.decode($0.bytes(0), seq: seq).map(EntryStamp.init))
        }
    }

    func delete(_ row: RoomRow, below base: Int64) throws(SQLiteFailure) {
        try deleteEntries.run(LogSchema.place(room: row.number, seq: row.head.base), LogSchema.place(room: row.number, seq: base))
    }

    func forget(device number: Int64) throws(SQLiteFailure) { try deleteDevice.run(number) }
}
