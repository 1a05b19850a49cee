import RoomCore
import RoomsStorage

/// The tables of a client's store, used through one connection.
///
/// The key of an entry combines its room and its sequence number, as in a hub's log: `room << 40 | seq`.
final class StoreTables {
    /// The application ID and the version of the tables in the file's header.
    static let application: Int64 = 0x4866_436C  // HfCl
    static let version: Int64 = 2

    let connection: SQLiteConnection
    private var statements: [String: SQLiteStatement] = [:]

    init(_ connection: SQLiteConnection) { self.connection = connection }

    /// Returns a prepared statement; prepares it at the first use.
    func statement(_ sql: String) throws(SQLiteFailure) -> SQLiteStatement {
        if let known = statements[sql] { return known }
        let made = try connection.prepare(sql)
        statements[sql] = made
        return made
    }

    /// Whether the tables exist; throws if the file is not a rooms store, or is of a newer version.
    @discardableResult
    func areThere() throws -> Bool {
        let application = try connection.number("PRAGMA application_id")
        if application == 0, try connection.number("SELECT count(*) FROM sqlite_master") == 0 { return false }
        guard application == Self.application else { throw SQLiteFailure.damaged("it is not a store of rooms") }
        let version = try connection.number("PRAGMA user_version") ?? 0
        guard version <= Self.version else { throw RoomStoreError.newer(version) }
        return true
    }

    /// Creates missing tables, and migrates those of version 1, which had no cursor proofs.
    func prepare() throws {
        if try !areThere() {
            try create()
        } else if try connection.number("PRAGMA user_version") ?? 0 < Self.version {
            try connection.run("ALTER TABLE rooms ADD COLUMN proof BLOB; PRAGMA user_version = \(Self.version)")
        }
    }

    private func create() throws(SQLiteFailure) {
        try connection.run(
            """
            CREATE TABLE store (id INTEGER PRIMARY KEY CHECK (id = 1), device BLOB NOT NULL);
            CREATE TABLE rooms (
                id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, epoch INTEGER NOT NULL, seq INTEGER NOT NULL,
                first INTEGER NOT NULL, next INTEGER NOT NULL, read INTEGER NOT NULL, proof BLOB);
            CREATE TABLE entries (place INTEGER PRIMARY KEY, counts INTEGER NOT NULL, body BLOB NOT NULL);
            CREATE TABLE outbox (
                room INTEGER NOT NULL, cseq INTEGER NOT NULL, message BLOB NOT NULL, sent INTEGER NOT NULL, type TEXT, kind TEXT,
                about INTEGER, isBinary INTEGER NOT NULL, payload BLOB NOT NULL, state INTEGER NOT NULL, code INTEGER NOT NULL,
                reason TEXT NOT NULL, PRIMARY KEY (room, cseq)) WITHOUT ROWID;
            PRAGMA application_id = \(Self.application);
            PRAGMA user_version = \(Self.version);
            """)
        var generator = SystemRandomNumberGenerator()
        let device = DeviceID(using: &generator)
        try statement("INSERT INTO store (id, device) VALUES (1, ?)").run(StoredEntry.bytes(of: device.bits))
    }

    /// The row of a room.
    struct Room {
        let number: Int64
        var bounds = StoredBounds()
        /// The range of the keys of its entries: from `start` inclusive to `end` exclusive.
        var keys: (start: Int64, end: Int64) { (number << 40, (number + 1) << 40) }

        func place(_ seq: Int64) -> Int64 { number << 40 | min(max(seq, 0), 1 << 40 - 1) }
    }

    func device() throws(SQLiteFailure) -> DeviceID {
        guard let bits = try statement("SELECT device FROM store").first(as: { StoredEntry.bits($0.bytes(0)) }) ?? nil else {
            throw .damaged("it has no device")
        }
        return DeviceID(bits)
    }

    func room(_ name: RoomName) throws(SQLiteFailure) -> Room? {
        let sql = "SELECT id, epoch, seq, first, next, read, proof FROM rooms WHERE name = ?"
        return try statement(sql).first(name.text) { row throws(SQLiteFailure) in
            let proof = try row.isNothing(6) ? nil : StoredEntry.bits(row.blob(6)).map { CursorProof($0) }
            let bounds = StoredBounds(
                cursor: try row.position(1), first: try row.integer(3), next: try row.integer(4, in: Self.numbered),
                read: try row.integer(5), proof: proof)
            return Room(number: try row.integer(0, in: 1...Self.greatestRoom), bounds: bounds)
        }
    }

    func summaries() throws(SQLiteFailure) -> [StoredRoomSummary] {
        let sql = """
            SELECT name, epoch, seq, read,
                (SELECT count(*) FROM entries WHERE place > rooms.id << 40 | rooms.read AND place < (rooms.id + 1) << 40 AND counts),
                (SELECT count(*) FROM outbox WHERE room = rooms.id AND state <> 2),
                (SELECT count(*) FROM outbox WHERE room = rooms.id AND state = 2)
            FROM rooms WHERE epoch <> 0 OR seq <> 0 OR EXISTS (SELECT 1 FROM outbox WHERE room = rooms.id) ORDER BY name
            """
        return try statement(sql).rows { row throws(SQLiteFailure) in
            guard let name = RoomName(try row.string(0)) else { throw .damaged("a room without a name") }
            return StoredRoomSummary(
                name: name, cursor: try row.position(1), read: try row.integer(3), unread: Int(try row.integer(4)),
                waiting: Int(try row.integer(5)), failed: Int(try row.integer(6)))
        }
    }

    func entries(_ room: Room, before: Int64?, limit: Int) throws(SQLiteFailure) -> [Entry] {
        let sql = "SELECT place, body FROM entries WHERE place < ? AND place >= ? ORDER BY place DESC LIMIT ?"
        return try page(sql, before.map { room.place($0) } ?? room.keys.end, room.keys.start, limit).reversed()
    }

    func entries(_ room: Room, after seq: Int64, limit: Int) throws(SQLiteFailure) -> [Entry] {
        let sql = "SELECT place, body FROM entries WHERE place > ? AND place < ? ORDER BY place LIMIT ?"
        return try page(sql, room.place(seq), room.keys.end, limit)
    }

    private func page(_ sql: String, _ from: Int64, _ to: Int64, _ limit: Int) throws(SQLiteFailure) -> [Entry] {
        try statement(sql).rows(from, to, Int64(max(limit, 0))) { row throws(SQLiteFailure) in
            let place = row.number(0)
            guard let entry = StoredEntry.decode(row.bytes(1), seq: place & (1 << 40 - 1)) else { throw .damaged("an entry at \(place)") }
            return entry
        }
    }

    func outbox(_ room: Room, _ name: RoomName) throws(SQLiteFailure) -> [OutboxRow] {
        let sql = """
            SELECT cseq, message, sent, type, kind, about, isBinary, payload, state, code, reason FROM outbox WHERE room = ? ORDER BY cseq
            """
        return try statement(sql).rows(room.number) { row throws(SQLiteFailure) in
            guard let id = StoredEntry.bits(try row.blob(1)) else { throw .damaged("a message without an id") }
            let failure = OutboxFailure(code: Refusal.Code(rawValue: try row.integer(9, in: .min ... .max)), text: try row.string(10))
            let state: OutboxRow.State =
                switch try row.integer(8, in: 0...2) {
                case 0: .queued
                case 1: .voiding(failure)
                default: .failed(failure)
                }
            let publication = Publication(
                cseq: try row.integer(0, in: Self.numbered), id: MessageID(id), sent: try row.integer(2, in: .min ... .max),
                content: try Self.content(row))
            return OutboxRow(room: name, publication: publication, state: state)
        }
    }

    private static func content(_ row: SQLiteStatement) throws(SQLiteFailure) -> Publication.Content? {
        if row.isNothing(3) { return nil }
        let about = row.isNothing(4) ? nil : Reference(kind: try row.string(4), seq: try row.integer(5))
        let bytes = [UInt8](try row.blob(7))
        return Publication.Content(
            type: try row.string(3), about: about, payload: try row.integer(6) == 0 ? .json(bytes) : .binary(bytes))
    }

    /// The range of valid message numbers.
    private static let numbered = 1...RoomsLimits.number
    /// The largest room number whose entries have keys.
    private static let greatestRoom: Int64 = 1 << 23 - 2
}

/// Checked reading of values from a file that may be damaged.
extension SQLiteStatement {
    fileprivate func integer(_ column: Int32, in range: ClosedRange<Int64> = 0...RoomsLimits.number) throws(SQLiteFailure) -> Int64 {
        try check(column, .number)
        guard range.contains(number(column)) else { throw odd(column) }
        return number(column)
    }

    fileprivate func string(_ column: Int32) throws(SQLiteFailure) -> String {
        try check(column, .text)
        return text(column)
    }

    fileprivate func blob(_ column: Int32) throws(SQLiteFailure) -> UnsafeRawBufferPointer {
        try check(column, .bytes)
        return bytes(column)
    }

    fileprivate func isNothing(_ column: Int32) -> Bool { kind(column) == .nothing }

    /// Reads an epoch, which may have any bits, and the sequence number in the next column.
    fileprivate func position(_ column: Int32) throws(SQLiteFailure) -> LogPosition {
        LogPosition(epoch: UInt64(bitPattern: try integer(column, in: .min ... .max)), seq: try integer(column + 1))
    }

    private func check(_ column: Int32, _ due: Kind) throws(SQLiteFailure) { if kind(column) != due { throw odd(column) } }

    private func odd(_ column: Int32) -> SQLiteFailure { .damaged("its column \(name(column)) contains an invalid value") }
}
