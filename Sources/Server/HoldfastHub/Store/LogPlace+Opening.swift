import Foundation
import RoomsStorage
import WebSocketRuntime

/// A log that was opened.
struct OpenedLog {
    let lock: FileLock
    let connection: SQLiteConnection
    /// The file that stores the number of the last transaction, outside of the database.
    let mark: NumberFile
    /// The number of the last transaction.
    let commits: Int64
    let opening: LogOpening
}

extension LogPlace {
    /// Locks the directory and opens the file, which is created if it does not exist.
    ///
    /// Invalid files are left unchanged.
    func open(drawsNewEpochs: Bool, checkedBytes: Int64, hook: StoreHook?) throws(RoomLogError) -> OpenedLog {
        let files = FileManager.default
        // Opening a named pipe would wait for its writer.
        if let odd = self.files.first(where: { Disk.isSpecial($0) }) { throw .corrupt("\(odd) is not a regular file") }
        let lock: FileLock
        do throws(FileLock.Failure) { lock = try FileLock(self.lock) } catch { throw RoomLogError(error, directory) }
        let hasJournal = files.fileExists(atPath: file + "-wal")
        if !files.fileExists(atPath: file) {
            guard !hasJournal else { throw .corrupt("\(file) is missing, but its journal exists") }
            try create()
        }
        let header = try header()
        if header.application == Self.copy {
            // The journal belongs to another file, and SQLite would apply it to this one.
            guard !hasJournal else { throw .corrupt("beside the backup \(file) is the journal of another log") }
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
            // This must happen before SQLite opens the file: closing a file releases all locks that the process holds on it.
            let lost = JournalEnd.lostTransactions(in: file + "-wal")
            if lost > 0 { reasons.append(.lostTransactions(lost)) }
            connection = try connect()
            try check(connection, upTo: checkedBytes)
            // The header is read without the journal, so an upgrade may already be in the journal.
            if header.version < Self.version { try LogSchema.upgrade(connection) }
        } catch { throw RoomLogError(error, directory) }
        let (mark, commits, renewals) = try settleHigh(connection, reasons, hook)
        let opening = LogOpening(renewals: (header.application == Self.copy ? [.backup] : []) + renewals)
        return OpenedLog(lock: lock, connection: connection, mark: mark, commits: commits, opening: opening)
    }

    /// Creates the file; it gets its name only when it is complete.
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

    /// Creates an empty file that only its owner may access.
    static func makeFile(_ path: String) throws(RoomLogError) {
        do throws(Disk.Failure) { try Disk.makeFile(path) } catch { throw RoomLogError(error, path) }
    }

    /// Gives a file its final name once it is on disk.
    func settle(_ new: String, as final: String) throws(RoomLogError) {
        do throws(Disk.Failure) { try Disk.settle(new, as: final) } catch {
            throw error.isFull ? .full : .failed("\(final): \(error.text)")
        }
    }

    /// Reads the file's header without SQLite, which would take the journal beside it as its own.
    private func header() throws(RoomLogError) -> (application: UInt32, version: UInt32) {
        guard let handle = FileHandle(forReadingAtPath: file) else { throw .readOnly(file) }
        defer { try? handle.close() }
        guard let head = try? handle.read(upToCount: 100), head.count == 100, head.starts(with: Data("SQLite format 3\0".utf8)) else {
            throw .corrupt("\(file) is not an SQLite file")
        }
        // https://sqlite.org/fileformat2.html#the_database_header
        func number(_ place: Int) -> UInt32 { head[place..<place + 4].reduce(0) { $0 << 8 | UInt32($1) } }
        return (number(68), number(60))
    }

    /// Checks a file for damage if it is not too large.
    private func check(_ connection: SQLiteConnection, upTo bytes: Int64) throws(SQLiteFailure) {
        guard sizes.file <= bytes else { return }
        if let verdict = try connection.text("PRAGMA quick_check(1)"), verdict != "ok" { throw .damaged(verdict) }
        // Rooms must end where their rows say; otherwise a transaction was torn.
        let torn = try connection.text(
            """
            SELECT name FROM rooms WHERE base < 1 OR head < base - 1 OR (head >= base
                AND NOT EXISTS (SELECT 1 FROM entries WHERE place = rooms.id << \(LogSchema.bits) | rooms.head))
                OR EXISTS (SELECT 1 FROM entries WHERE place > rooms.id << \(LogSchema.bits) | rooms.head
                    AND place < rooms.id + 1 << \(LogSchema.bits)) LIMIT 1
            """)
        if let torn { throw .damaged("the end of room \(torn) is not where it should be") }
    }

    /// The sizes of the file and of its write-ahead log, in bytes.
    var sizes: (file: Int64, journal: Int64) {
        func size(_ path: String) -> Int64 {
            let attributes = try? FileManager.default.attributesOfItem(atPath: path)
            return (attributes?[.size] as? NSNumber)?.int64Value ?? 0
        }
        return (size(file), size(file + "-wal"))
    }
}

/// Examines the part of SQLite's write-ahead log behind its valid end: https://sqlite.org/walformat.html.
///
/// SQLite stops at the first wrong checksum, which marks the end, and does not report what comes after it.
enum JournalEnd {
    private static let page = 4096
    private static let head = 32
    private static let frameHead = 24

    /// Counts the transactions in a journal after the last one that SQLite recovers.
    ///
    /// A power cut during a commit may also leave such a transaction, although it was never acknowledged.
    static func lostTransactions(in path: String) -> Int {
        guard let journal = FileHandle(forReadingAtPath: path) else { return 0 }
        defer { try? journal.close() }
        guard let bytes = try? journal.read(upToCount: head), bytes.count == head else { return 0 }
        let isBig = bytes[3] & 1 == 1
        var sums = Sums()
        bytes.withUnsafeBytes { sums.add($0, upTo: 24, isBig: isBig) }
        var isIntact = bytes.withUnsafeBytes { sums.isWritten(in: $0, at: 24) }
        // If the header is damaged, the frames' own salts identify their generation.
        var salts: Data? = isIntact ? Data(bytes[16..<24]) : nil
        var count = 0
        while let frame = try? journal.read(upToCount: frameHead + page), frame.count == frameHead + page {
            let own = Data(frame[8..<16])
            if isIntact, own == salts {
                frame.withUnsafeBytes {
                    sums.add($0, upTo: 8, isBig: isBig)
                    sums.add(UnsafeRawBufferPointer(rebasing: $0[frameHead...]), upTo: page, isBig: isBig)
                    isIntact = sums.isWritten(in: $0, at: 16) && frame[0..<4].contains { $0 != 0 }
                }
                if isIntact { continue }
            }
            isIntact = false
            if salts == nil { salts = own }
            // The last frame of a transaction contains the size of the file after it.
            if own == salts, frame[4..<8].contains(where: { $0 != 0 }) { count += 1 }
        }
        return count
    }

    /// The checksum of everything before, in the byte order of the header.
    private struct Sums {
        private var (first, second): (UInt32, UInt32) = (0, 0)

        mutating func add(_ bytes: UnsafeRawBufferPointer, upTo end: Int, isBig: Bool) {
            var (first, second) = (first, second)
            for place in stride(from: 0, to: end, by: 8) {
                let one = bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self)
                let other = bytes.loadUnaligned(fromByteOffset: place + 4, as: UInt32.self)
                first &+= (isBig ? UInt32(bigEndian: one) : UInt32(littleEndian: one)) &+ second
                second &+= (isBig ? UInt32(bigEndian: other) : UInt32(littleEndian: other)) &+ first
            }
            (self.first, self.second) = (first, second)
        }

        func isWritten(in bytes: UnsafeRawBufferPointer, at place: Int) -> Bool {
            first == UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self))
                && second == UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: place + 4, as: UInt32.self))
        }
    }
}
