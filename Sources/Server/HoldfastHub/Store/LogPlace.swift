import Foundation
import RoomsStorage
import WebSocketRuntime

/// Where a hub's log lies: a directory, with a file of SQLite, its companions, and a lock.
struct LogPlace: Sendable {
    let directory: String
    var file: String { directory + "/rooms.sqlite" }
    var lock: String { directory + "/lock" }
    /// The number of the last transaction, outside of the file and its journal: it tells whether those went back.
    var high: String { directory + "/high" }
    /// The file, what SQLite keeps beside it, and what is left when it could not be made.
    var files: [String] { ["", "-wal", "-shm", "-journal", ".new", ".new-journal"].map { file + $0 } + [lock, high, high + ".new"] }

    /// Makes the directory, or closes what is there to other users of the machine; a sentence for each thing that was open.
    ///
    /// A directory in which something else lies, too, keeps its mode: somebody else may need it.
    func prepare() throws(RoomLogError) -> [String] {
        let isMade: Bool
        do throws(Disk.Failure) { isMade = try Disk.makeDirectory(directory) } catch { throw RoomLogError(error, directory) }
        do throws(Disk.Exposure) {
            guard !isMade, let stranger else { return try Disk.closeToOthers([directory] + files) }
            let remark = try Disk.remark(onShared: directory, with: stranger)
            return [remark].compactMap(\.self) + (try Disk.closeToOthers(files))
        } catch { throw .failed(error.text) }
    }

    /// The first thing in the directory, by name, that is no hub's; one that cannot be read is as good as a stranger.
    private var stranger: String? {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: directory) else { return "what cannot be listed" }
        let own = Set(files.map { String($0.dropFirst(directory.count + 1)) })
        return names.filter { !own.contains($0) }.min()
    }

    /// What the file says in its header: that it is the log of a hub.
    static let application: UInt32 = 0x4866_526D  // HfRm
    /// Or that it is a backup, which nobody has opened yet.
    static let copy: UInt32 = 0x4866_5263  // HfRc
    /// The version of its tables, which stands there too.
    static let version: UInt32 = 4

    /// After so many pages of the writer's somebody beside it brings what is in the journal into the file: 4 MB.
    ///
    /// The writer itself does so only from 32 MB on.
    static let journalPages = 1000

    /// Opens the file as it should be, for reading and writing.
    func connect() throws(SQLiteFailure) -> SQLiteConnection {
        let connection = try SQLiteConnection(file)
        // What is acked is on disk.
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
/// An entry's key is its room and its number in one: `room << 40 | seq`, so that a room lies in one piece, in order, and no other index
/// says where. `sender` is the row of the device, so that its numbers can be looked up by a small index; it is never used twice. Entries since
/// version 3 are sealed, for SQLite has no checksums: what a disk has changed is not handed out. `below` says what the entry below `base`
/// was (``EntryStamp``); nothing if there was none, it was damaged, or it was taken away before version 4.
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

    /// By the device first: a device is asked for in its room, and whose it is in any.
    private static let devicesIndex = "CREATE UNIQUE INDEX IF NOT EXISTS devices_by_device ON devices (device, room)"

    /// What is known of the log as a whole.
    ///
    /// `commits` is the number of its last transaction; `file`, `high` and `lock` say which files of the disk it, its high mark and its lock
    /// were when a hub had it last (``FileIdentity``); `time` and `expected` what the log's clock said.
    private static let meta = """
        CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value ANY NOT NULL) STRICT, WITHOUT ROWID;
        INSERT OR IGNORE INTO meta (name, value) VALUES ('commits', 0)
        """

    /// Makes the tables of an older version those of the present one.
    ///
    /// In version 1 rooms were stored before anything was written in them. In version 2 nothing was known of the log as a whole. In
    /// version 3 nothing was known of the entry below `base`.
    static func upgrade(_ connection: SQLiteConnection) throws(SQLiteFailure) {
        // It may have been done before, and SQLite cannot be told to add only what is not there.
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

    /// How many bits of a key are the entry's number.
    static let bits: Int64 = 40
    /// Entries of a room, and rooms, at most.
    static let greatestSeq: Int64 = 1 << bits - 1
    static let greatestRoom: Int64 = 1 << (63 - bits) - 1

    static func place(room: Int64, seq: Int64) -> Int64 { room << bits | min(max(seq, 0), greatestSeq) }
}
