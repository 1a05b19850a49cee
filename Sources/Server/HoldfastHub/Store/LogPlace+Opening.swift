import Foundation
import RoomsStorage
import WebSocketRuntime

/// A log that was opened.
struct OpenedLog {
    let lock: FileLock
    let connection: SQLiteConnection
    /// Holds the number of the last transaction, outside of the file.
    let mark: NumberFile
    /// The number of the last transaction.
    let commits: Int64
    let opening: LogOpening
}

extension LogPlace {
    /// Takes hold of the directory and opens the file, which is made if there is none.
    ///
    /// What is not as it should be is left as it is.
    func open(drawsNewEpochs: Bool, checkedBytes: Int64, hook: StoreHook?) throws(RoomLogError) -> OpenedLog {
        let files = FileManager.default
        // Opening a pipe would wait for whoever writes to it.
        if let odd = self.files.first(where: { Disk.isSpecial($0) }) { throw .corrupt("\(odd) is no file") }
        let lock: FileLock
        do throws(FileLock.Failure) { lock = try FileLock(self.lock) } catch { throw RoomLogError(error, directory) }
        let hasJournal = files.fileExists(atPath: file + "-wal")
        if !files.fileExists(atPath: file) {
            guard !hasJournal else { throw .corrupt("\(file) is gone, and its journal is not") }
            try create()
        }
        let header = try header()
        if header.application == Self.copy {
            // What lies there is of another file, and would be taken for a part of this one.
            guard !hasJournal else { throw .corrupt("beside the backup \(file) lies the journal of another log") }
        } else if header.application != Self.application {
            throw .corrupt("\(file) is not the log of a hub")
        }
        guard header.version <= Self.version else { throw .newer(Int64(header.version)) }
        guard header.version > 0 else { throw .corrupt("\(file) has no version") }
        var reasons: [LogRenewal] = drawsNewEpochs ? [.asked] : []
        let connection: SQLiteConnection
        do throws(SQLiteFailure) {
            if header.application == Self.copy {
                try renewCopy(hook)
                reasons = []
            }
            // Before SQLite has it open: closing one of its files takes the locks of the whole process from it.
            let lost = JournalEnd.lostTransactions(in: file + "-wal")
            if lost > 0 { reasons.append(.lostTransactions(lost)) }
            connection = try connect()
            try check(connection, upTo: checkedBytes)
            // The header is read past the journal, so that an upgrade may be there already.
            if header.version < Self.version { try LogSchema.upgrade(connection) }
        } catch { throw RoomLogError(error, directory) }
        let (mark, commits, renewals) = try settleHigh(connection, reasons, hook)
        let opening = LogOpening(renewals: (header.application == Self.copy ? [.backup] : []) + renewals)
        return OpenedLog(lock: lock, connection: connection, mark: mark, commits: commits, opening: opening)
    }

    /// Makes the file, which has its name only when it is whole.
    private func create() throws(RoomLogError) {
        let new = file + ".new"
        try? FileManager.default.removeItem(atPath: new)
        try Self.makeFile(new)
        do throws(SQLiteFailure) {
            let connection = try SQLiteConnection(new)
            try connection.run(LogSchema.tables)
        } catch { throw RoomLogError(error, directory) }
        try settle(new, as: file)
    }

    /// Makes an empty file that only its owner may use.
    static func makeFile(_ path: String) throws(RoomLogError) {
        do throws(Disk.Failure) { try Disk.makeFile(path) } catch { throw RoomLogError(error, path) }
    }

    /// Gives a file its name when it is on disk.
    func settle(_ new: String, as final: String) throws(RoomLogError) {
        do throws(Disk.Failure) { try Disk.settle(new, as: final) } catch {
            throw error.isFull ? .full : .failed("\(final): \(error.text)")
        }
    }

    /// What the file says it is; read past SQLite, which would take the journal beside it for its own.
    private func header() throws(RoomLogError) -> (application: UInt32, version: UInt32) {
        guard let handle = FileHandle(forReadingAtPath: file) else { throw .readOnly(file) }
        defer { try? handle.close() }
        guard let head = try? handle.read(upToCount: 100), head.count == 100, head.starts(with: Data("SQLite format 3\0".utf8)) else {
            throw .corrupt("\(file) is no file of SQLite")
        }
        // https://sqlite.org/fileformat2.html#the_database_header
        func number(_ place: Int) -> UInt32 { head[place..<place + 4].reduce(0) { $0 << 8 | UInt32($1) } }
        return (number(68), number(60))
    }

    /// Looks through a file that is not too large for it.
    private func check(_ connection: SQLiteConnection, upTo bytes: Int64) throws(SQLiteFailure) {
        guard sizes.file <= bytes else { return }
        if let verdict = try connection.text("PRAGMA quick_check(1)"), verdict != "ok" { throw .damaged(verdict) }
        // Rooms end where their rows say, or a transaction was torn.
        let torn = try connection.text(
            """
            SELECT name FROM rooms WHERE base < 1 OR head < base - 1 OR (head >= base
                AND NOT EXISTS (SELECT 1 FROM entries WHERE place = rooms.id << \(LogSchema.bits) | rooms.head))
                OR EXISTS (SELECT 1 FROM entries WHERE place > rooms.id << \(LogSchema.bits) | rooms.head
                    AND place < rooms.id + 1 << \(LogSchema.bits)) LIMIT 1
            """)
        if let torn { throw .damaged("the end of room \(torn) is not where it should be") }
    }

    /// Bytes of the file and of its write-ahead log.
    var sizes: (file: Int64, journal: Int64) {
        func size(_ path: String) -> Int64 {
            let attributes = try? FileManager.default.attributesOfItem(atPath: path)
            return (attributes?[.size] as? NSNumber)?.int64Value ?? 0
        }
        return (size(file), size(file + "-wal"))
    }
}
