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
            number: try row.number(0, in: 1...greatestRoom),
            bounds: StoredBounds(
                cursor: try row.position(1), first: try row.number(3), next: try row.number(4, in: numbered), read: try row.number(5),
                proof: try row.present(6)?.blob(6).withUnsafeBytes(StoredEntry.bits).map { CursorProof($0) }))
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
            guard let name = RoomName(try row.text(0)) else { throw damaged("a room without a name") }
            return StoredRoomSummary(
                name: name, cursor: try row.position(1), read: try row.number(3), unread: Int(try row.number(4)),
                waiting: Int(try row.number(5)), failed: Int(try row.number(6)))
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
            let place = try row.number(0, in: .min ... .max)
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
            guard let bits = try row.blob(1).withUnsafeBytes(StoredEntry.bits) else { throw damaged("a message without an id") }
            let content = try row.present(3).map { row in
                let bytes = [UInt8](try row.blob(7))
                return Publication.Content(
                    type: try row.text(3), about: try row.present(4).map { Reference(kind: try $0.text(4), seq: try $0.number(5)) },
                    payload: try row.number(6) == 0 ? .json(bytes) : .binary(bytes))
            }
            let failure = OutboxFailure(
                code: Refusal.Code(rawValue: try row.number(9, in: .min ... .max)), text: try row.text(10))
            let state: OutboxRow.State =
                switch try row.number(8, in: 0...2) {
                case 0: .queued
                case 1: .burning(failure)
                default: .failed(failure)
                }
            let publication = Publication(
                cseq: try row.number(0, in: numbered), id: MessageID(bits), sent: try row.number(2, in: .min ... .max), content: content)
            return OutboxRow(room: name, publication: publication, state: state)
        }
    }

    /// The numbers that messages may have.
    private static let numbered = 1...RoomsLimits.number
    /// The last room whose entries have keys.
    private static let greatestRoom: Int64 = 1 << 23 - 2
}

/// Values of a file that may be damaged: GRDB's own subscript ends the process if one is of another kind.
extension Row {
    fileprivate func number(_ index: Int, in range: ClosedRange<Int64> = 0...RoomsLimits.number) throws -> Int64 {
        guard case .int64(let number) = (self[index] as DatabaseValue).storage, range.contains(number) else { throw odd(index) }
        return number
    }

    fileprivate func text(_ index: Int) throws -> String {
        guard case .string(let text) = (self[index] as DatabaseValue).storage else { throw odd(index) }
        return text
    }

    fileprivate func blob(_ index: Int) throws -> Data {
        guard case .blob(let data) = (self[index] as DatabaseValue).storage else { throw odd(index) }
        return data
    }

    /// The row if there is a value.
    fileprivate func present(_ index: Int) -> Row? { (self[index] as DatabaseValue).isNull ? nil : self }

    /// An epoch, which may have any bits, and a number behind it.
    fileprivate func position(_ index: Int) throws -> LogPosition {
        LogPosition(epoch: UInt64(bitPattern: try number(index, in: .min ... .max)), seq: try number(index + 1))
    }

    private func odd(_ index: Int) -> RoomStoreError {
        StoreTables.damaged("its column \(Array(columnNames)[index]) holds what it cannot hold")
    }
}
