import Foundation
import RoomsStorage
import WebSocketRuntime

/// The place of a hub's log: a directory with an SQLite file, its companion files, and a lock.
struct LogPlace: Sendable {
    let directory: String
    var file: String { directory + "/rooms.sqlite" }
    var lock: String { directory + "/lock" }
    /// The file with the number of the last transaction, outside of the database and its journal: it shows whether those went back.
    var high: String { directory + "/high" }
    /// The database, SQLite's companion files, and the leftovers of a failed creation.
    var files: [String] { ["", "-wal", "-shm", "-journal", ".new", ".new-journal"].map { file + $0 } + [lock, high, high + ".new"] }

    /// Creates the directory, or removes other users' access to it; returns one sentence for each file that was open to others.
    ///
    /// A directory that contains other files keeps its mode, because others may need it.
    func prepare() throws(RoomLogError) -> [String] {
        let isMade: Bool
        do throws(Disk.Failure) { isMade = try Disk.makeDirectory(directory) } catch { throw RoomLogError(error, directory) }
        do throws(Disk.UnsafeFile) {
            guard !isMade, let stranger else { return try Disk.closeToOthers([directory] + files) }
            let warning = try Disk.warning(onShared: directory, with: stranger)
            return [warning].compactMap(\.self) + (try Disk.closeToOthers(files))
        } catch { throw .failed(error.text) }
    }

    /// The first file in the directory, by name, that does not belong to a hub; an unreadable directory counts as having one.
    private var stranger: String? {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: directory) else { return "what cannot be listed" }
        let own = Set(files.map { String($0.dropFirst(directory.count + 1)) })
        return names.filter { !own.contains($0) }.min()
    }

    /// The application ID in the file's header for the log of a hub.
    static let application: UInt32 = 0x4866_526D  // HfRm
    /// The application ID for a backup that no hub has opened yet.
    static let copy: UInt32 = 0x4866_5263  // HfRc
    /// The version of the tables, which is also in the header.
    static let version: UInt32 = 4

    /// The number of written pages after which the copier moves the journal into the file: 4 MB.
    ///
    /// The writer itself does so only from 32 MB on.
    static let journalPages = 1000

    /// Opens the file for reading and writing, with the right settings.
    func connect() throws(SQLiteFailure) -> SQLiteConnection {
        let connection = try SQLiteConnection(file)
        // Acknowledged data is on disk.
        try connection.writeAhead()
        try connection.run(
            """
            PRAGMA wal_autocheckpoint = 8000; PRAGMA journal_size_limit = 67108864; PRAGMA cache_size = -16384; PRAGMA foreign_keys = OFF
            """)
        return connection
    }
}

/// The tables of a log.
///
/// An entry's key combines its room and its sequence number: `room << 40 | seq`. So a room lies in one piece, in order, and needs no
/// other index. `sender` is the row of the device, so that a small index finds its numbers; a row number is never used twice. Since
/// version 3, entries have checksums of their own, because SQLite has none: entries that the disk has changed are not returned. `below`
/// is the stamp of the entry below `base` (``EntryStamp``); it is null if there was no such entry, it was damaged, or it was deleted
/// before version 4.
enum LogSchema {
    static let tables = """
        PRAGMA auto_vacuum = INCREMENTAL;
        PRAGMA page_size = 4096;
        BEGIN;
        CREATE TABLE rooms (
            id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, epoch INTEGER NOT NULL CHECK (epoch <> 0), head INTEGER NOT NULL,
            base INTEGER NOT NULL, bytes INTEGER NOT NULL, below BLOB) STRICT;
        CREATE TABLE entries (
            place INTEGER PRIMARY KEY, sender INTEGER NOT NULL, cseq INTEGER NOT NULL, body BLOB NOT NULL) STRICT;
        CREATE UNIQUE INDEX entries_by_sender ON entries (sender, cseq);
        CREATE TABLE devices (
            id INTEGER PRIMARY KEY AUTOINCREMENT, room INTEGER NOT NULL, device BLOB NOT NULL, high INTEGER NOT NULL,
            message BLOB NOT NULL, user TEXT NOT NULL, at INTEGER NOT NULL) STRICT;
        \(devicesIndex);
        CREATE TABLE reads (
            room INTEGER NOT NULL, user TEXT NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (room, user)) STRICT, WITHOUT ROWID;
        \(meta);
        PRAGMA application_id = \(LogPlace.application);
        PRAGMA user_version = \(LogPlace.version);
        COMMIT;
        """

    /// Ordered by device first: the hub looks up a device in one room, and its owner over all rooms.
    private static let devicesIndex = "CREATE UNIQUE INDEX IF NOT EXISTS devices_by_device ON devices (device, room)"

    /// The state of the log as a whole.
    ///
    /// `commits` is the number of the last transaction. `file`, `high` and `lock` identify the files that the log, its high mark and its
    /// lock were in when a hub last used them (``FileIdentity``). `time` and `expected` are the values of the log's clock.
    private static let meta = """
        CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value ANY NOT NULL) STRICT, WITHOUT ROWID;
        INSERT OR IGNORE INTO meta (name, value) VALUES ('commits', 0)
        """

    /// Upgrades the tables of an older version.
    ///
    /// Version 1 stored rooms before anything was written in them. Version 2 stored nothing about the log as a whole. Version 3 stored
    /// nothing about the entry below `base`.
    static func upgrade(_ connection: SQLiteConnection) throws(SQLiteFailure) {
        // The column may exist already, and SQLite has no "add column if not exists".
        let hasBelow = try connection.number("SELECT 1 FROM pragma_table_info('rooms') WHERE name = 'below'") != nil
        try connection.run(
            """
            BEGIN IMMEDIATE;
            \(devicesIndex);
            DELETE FROM rooms WHERE head = 0 AND NOT EXISTS (SELECT 1 FROM devices WHERE room = rooms.id);
            \(hasBelow ? "" : "ALTER TABLE rooms ADD COLUMN below BLOB;")
            \(meta);
            PRAGMA user_version = \(LogPlace.version);
            COMMIT;
            """)
    }

    /// The number of bits of a key for the entry's sequence number.
    static let bits: Int64 = 40
    /// The maximum sequence number of a room, and the maximum row number of a room.
    static let greatestSeq: Int64 = 1 << bits - 1
    static let greatestRoom: Int64 = 1 << (63 - bits) - 1

    static func place(room: Int64, seq: Int64) -> Int64 { room << bits | min(max(seq, 0), greatestSeq) }
}
