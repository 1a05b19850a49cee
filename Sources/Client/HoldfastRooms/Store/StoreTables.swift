import Foundation
import GRDB
import RoomCore
import RoomsStorage

/// The tables of a client's store.
///
/// An entry's key is its room and its number in one, as in a hub's log: `room << 40 | seq`.
enum StoreTables {
    /// What the file says in its header: whose it is, and the version of its tables.
    static let application: Int64 = 0x4866_436C  // HfCl
    static let version: Int64 = 2

    /// Makes the tables of version 1 those of the present one: cursors had no proofs.
    static func upgrade(_ database: Database) throws {
        try database.execute(sql: "ALTER TABLE rooms ADD COLUMN proof BLOB; PRAGMA user_version = \(version)")
    }

    static func create(_ database: Database) throws {
        try database.execute(
            sql: """
                CREATE TABLE store (id INTEGER PRIMARY KEY CHECK (id = 1), device BLOB NOT NULL);
                CREATE TABLE rooms (
                    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, epoch INTEGER NOT NULL, seq INTEGER NOT NULL,
                    first INTEGER NOT NULL, next INTEGER NOT NULL, read INTEGER NOT NULL, proof BLOB);
                CREATE TABLE entries (place INTEGER PRIMARY KEY, counts INTEGER NOT NULL, body BLOB NOT NULL);
                CREATE TABLE outbox (
                    room INTEGER NOT NULL, cseq INTEGER NOT NULL, message BLOB NOT NULL, sent INTEGER NOT NULL, type TEXT, kind TEXT,
                    about INTEGER, isBinary INTEGER NOT NULL, payload BLOB NOT NULL, state INTEGER NOT NULL, code INTEGER NOT NULL,
                    reason TEXT NOT NULL, PRIMARY KEY (room, cseq)) WITHOUT ROWID;
                PRAGMA application_id = \(application);
                PRAGMA user_version = \(version);
                """)
        var generator = SystemRandomNumberGenerator()
        let device = DeviceID(using: &generator)
        try database.execute(
            sql: "INSERT INTO store (id, device) VALUES (1, ?)", arguments: [blob(device.bits)])
    }

    /// The row of a room.
    struct Room {
        let number: Int64
        var bounds: StoredBounds
    }

    static func place(_ room: Int64, _ seq: Int64) -> Int64 { room << 40 | min(max(seq, 0), 1 << 40 - 1) }

    static func blob(_ bytes: [UInt8]) -> DatabaseValue { Data(bytes).databaseValue }
    static func blob(_ bits: Bits128) -> DatabaseValue { blob(StoredEntry.bytes(of: bits)) }

    static func damaged(_ what: String) -> RoomStoreError { .corrupt(what) }

    static func device(_ database: Database) throws -> DeviceID {
        guard let bits = try Data.fetchOne(database, sql: "SELECT device FROM store")?.withUnsafeBytes(StoredEntry.bits) else {
            throw damaged("it has no device")
        }
        return DeviceID(bits)
    }

    static func room(_ name: RoomName, _ database: Database) throws -> Room? {
        let statement = try database.cachedStatement(sql: "SELECT id, epoch, seq, first, next, read, proof FROM rooms WHERE name = ?")
        guard let row = try Row.fetchOne(statement, arguments: [name.text]) else { return nil }
        return Room(
            number: row[0],
            bounds: StoredBounds(
                cursor: LogPosition(epoch: UInt64(bitPattern: row[1] as Int64), seq: row[2]), first: row[3], next: row[4], read: row[5],
                proof: (row[6] as Data?)?.withUnsafeBytes(StoredEntry.bits).map { CursorProof($0) }))
    }

    static func summaries(_ database: Database) throws -> [StoredRoomSummary] {
        let sql = """
            SELECT name, epoch, seq, read,
                (SELECT count(*) FROM entries WHERE place > rooms.id << 40 | rooms.read AND place < (rooms.id + 1) << 40 AND counts),
                (SELECT count(*) FROM outbox WHERE room = rooms.id AND state <> 2),
                (SELECT count(*) FROM outbox WHERE room = rooms.id AND state = 2)
            FROM rooms WHERE epoch <> 0 OR seq <> 0 OR EXISTS (SELECT 1 FROM outbox WHERE room = rooms.id) ORDER BY name
            """
        return try Row.fetchAll(database, sql: sql).map { row in
            guard let name = RoomName(row[0]) else { throw damaged("a room without a name") }
            return StoredRoomSummary(
                name: name, cursor: LogPosition(epoch: UInt64(bitPattern: row[1] as Int64), seq: row[2]), read: row[3], unread: row[4],
                waiting: row[5], failed: row[6])
        }
    }

    static func entries(_ room: Room, before: Int64?, limit: Int, _ database: Database) throws -> [Entry] {
        let sql = "SELECT place, body FROM entries WHERE place < ? AND place >= ? ORDER BY place DESC LIMIT ?"
        let end = before.map { place(room.number, $0) } ?? (room.number + 1) << 40
        return try page(sql, [end, place(room.number, 0), max(limit, 0)], database).reversed()
    }

    static func entries(_ room: Room, after seq: Int64, limit: Int, _ database: Database) throws -> [Entry] {
        let sql = "SELECT place, body FROM entries WHERE place > ? AND place < ? ORDER BY place LIMIT ?"
        return try page(sql, [place(room.number, seq), (room.number + 1) << 40, max(limit, 0)], database)
    }

    private static func page(_ sql: String, _ arguments: StatementArguments, _ database: Database) throws -> [Entry] {
        var entries: [Entry] = []
        let rows = try Row.fetchCursor(database.cachedStatement(sql: sql), arguments: arguments)
        while let row = try rows.next() {
            let place: Int64 = row[0]
            let entry = try row.withUnsafeData(atIndex: 1) { data in
                data?.withUnsafeBytes { StoredEntry.decode($0, seq: place & (1 << 40 - 1)) }
            }
            guard let entry else { throw damaged("an entry at \(place)") }
            entries.append(entry)
        }
        return entries
    }

    static func outbox(_ room: Room, _ name: RoomName, _ database: Database) throws -> [OutboxRow] {
        let sql = """
            SELECT cseq, message, sent, type, kind, about, isBinary, payload, state, code, reason FROM outbox WHERE room = ? ORDER BY cseq
            """
        return try Row.fetchAll(database.cachedStatement(sql: sql), arguments: [room.number]).map { row in
            guard let bits = (row[1] as Data).withUnsafeBytes(StoredEntry.bits) else { throw damaged("a message without an id") }
            let content = (row[3] as String?).map { type in
                Publication.Content(
                    type: type, about: (row[4] as String?).map { Reference(kind: $0, seq: row[5]) },
                    payload: row[6] ? .binary([UInt8](row[7] as Data)) : .json([UInt8](row[7] as Data)))
            }
            let failure = OutboxFailure(code: Refusal.Code(rawValue: row[9]), text: row[10])
            let state: OutboxRow.State =
                switch row[8] as Int64 {
                case 0: .queued
                case 1: .burning(failure)
                default: .failed(failure)
                }
            return OutboxRow(
                room: name, publication: Publication(cseq: row[0], id: MessageID(bits), sent: row[2], content: content), state: state)
        }
    }
}
