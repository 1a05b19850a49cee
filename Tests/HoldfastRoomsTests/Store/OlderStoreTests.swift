import Foundation
import HoldfastRooms
import MachineCore
import RoomCore
import RoomsStorage
import Testing

/// A store of an earlier version, which used GRDB for SQLite with the same tables.
struct OlderStoreTests {
    private let room = StoreSample.room
    private let device = DeviceID("0123456789abcdef0123456789abcdef")!

    /// The tables as earlier versions created them, and a foreign table, which must stay unchanged.
    private static let tables = """
        CREATE TABLE store (id INTEGER PRIMARY KEY CHECK (id = 1), device BLOB NOT NULL);
        CREATE TABLE rooms (
            id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, epoch INTEGER NOT NULL, seq INTEGER NOT NULL,
            first INTEGER NOT NULL, next INTEGER NOT NULL, read INTEGER NOT NULL, proof BLOB);
        CREATE TABLE entries (place INTEGER PRIMARY KEY, counts INTEGER NOT NULL, body BLOB NOT NULL);
        CREATE TABLE outbox (
            room INTEGER NOT NULL, cseq INTEGER NOT NULL, message BLOB NOT NULL, sent INTEGER NOT NULL, type TEXT, kind TEXT,
            about INTEGER, isBinary INTEGER NOT NULL, payload BLOB NOT NULL, state INTEGER NOT NULL, code INTEGER NOT NULL,
            reason TEXT NOT NULL, PRIMARY KEY (room, cseq)) WITHOUT ROWID;
        CREATE TABLE other (identifier TEXT NOT NULL PRIMARY KEY);
        INSERT INTO other VALUES ('first');
        PRAGMA application_id = 1214661484;
        PRAGMA user_version = 2;
        """

    /// The contents of a room: three entries, the read marker at the second, and a message in each state.
    private func contents() -> String {
        let bodies = StoreSample.entries(1...3).map { entry in
            var bytes: [UInt8] = []
            StoredEntry.encode(entry, into: &bytes)
            return "(\(1 << 40 | entry.seq), 1, x'\(Hexadecimal.text(bytes))')"
        }
        func row(_ cseq: Int64, _ rest: String) -> String {
            "(1, \(cseq), x'\(Hexadecimal.text(StoredEntry.bytes(of: StoreSample.id(cseq).bits)))', \(1_700_000_000_000 + cseq), \(rest))"
        }
        return """
            INSERT INTO store VALUES (1, x'\(Hexadecimal.text(StoredEntry.bytes(of: device.bits)))');
            INSERT INTO rooms VALUES (1, 'abc', 9, 3, 1, 5, 2, x'ffffffffffffffff0000000000000007');
            INSERT INTO entries VALUES \(bodies.joined(separator: ", "));
            INSERT INTO outbox VALUES
                \(row(1, "'chat.text', NULL, NULL, 0, x'7b7d', 0, 0, ''")),
                \(row(2, "'chat.text', 'edit', 7, 1, x'', 0, 0, ''")),
                \(row(3, "NULL, NULL, NULL, 0, x'', 1, 4031, 'not now'")),
                \(row(4, "'chat.text', NULL, NULL, 0, x'7b7d', 2, 4031, 'not now'"));
            """
    }

    private func outbox() -> [OutboxRow] {
        let failure = OutboxFailure(code: Refusal.Code(rawValue: 4031), text: "not now")
        let about = Publication.Content(type: "chat.text", about: Reference(kind: "edit", seq: 7), payload: .binary([]))
        var rows = [StoreSample.row(1), StoreSample.row(2, content: about), StoreSample.row(3, content: nil), StoreSample.row(4)]
        (rows[2].state, rows[3].state) = (.voiding(failure), .failed(failure))
        return rows
    }

    @Test(arguments: [false, true])
    func `a store with the tables of earlier versions is opened without changes and losses`(isInJournal: Bool) async throws {
        let path = StoreSample.path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try Data().write(to: URL(fileURLWithPath: path + "/rooms.sqlite"))
        let writer = try SQLiteConnection(path + "/rooms.sqlite")
        try writer.run("PRAGMA journal_mode = WAL; BEGIN IMMEDIATE; \(Self.tables); \(contents()); COMMIT")
        if !isInJournal { try writer.run("PRAGMA wal_checkpoint(TRUNCATE)") }

        let stored = StoredRoom(
            cursor: LogPosition(epoch: 9, seq: 3), next: 5, outbox: outbox(), read: 2, proof: CursorProof(Bits128(high: .max, low: 7)))
        do {
            let store = try SQLiteRoomStore(path: path)
            #expect(try await store.device() == device)
            #expect(
                try await store.rooms() == [
                    StoredRoomSummary(name: room, cursor: LogPosition(epoch: 9, seq: 3), read: 2, unread: 1, waiting: 3, failed: 1)
                ])
            #expect(try await store.room(room) == stored)
            #expect(try await store.entries(room, before: nil, limit: 9) == StoreSample.entries(1...3))
            try await store.commit([.queue(StoreSample.row(5)), .append(room, epoch: 9, StoreSample.entries(4...4))])
            try store.close()
        }
        #expect(try writer.text("SELECT identifier FROM other") == "first")
        let store = try SQLiteRoomStore(path: path)
        #expect(try await store.device() == device)
        #expect(try await store.room(room).outbox == outbox() + [StoreSample.row(5)])
        #expect(try await store.entries(room, before: nil, limit: 9) == StoreSample.entries(1...4))
    }
}
