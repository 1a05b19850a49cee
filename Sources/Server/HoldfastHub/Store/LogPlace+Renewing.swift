import Foundation
import RoomsStorage
import WebSocketRuntime

// Whether the log has gone back since a hub last had it, and new epochs if so: a number that was given may not be given again in one epoch.
extension LogPlace {
    /// Gives a backup other epochs, and says that it is none any more, in one transaction.
    ///
    /// It is one without a write-ahead log: if the process dies, the file is a copy still, and nothing lies beside it that could not be
    /// told from another's.
    func renewCopy(_ hook: StoreHook?) throws(SQLiteFailure) {
        let connection = try SQLiteConnection(file)
        try connection.run(
            """
            PRAGMA journal_mode = DELETE; PRAGMA synchronous = EXTRA; PRAGMA fullfsync = ON;
            BEGIN IMMEDIATE;
            \(Self.drawing);
            PRAGMA application_id = \(Self.application);
            """)
        // Where the log that was copied stood is no matter here.
        if try connection.number("SELECT 1 FROM sqlite_schema WHERE name = 'meta'") != nil {
            try connection.run("DELETE FROM meta WHERE name IN ('file', 'high', 'lock')")
        }
        hook?(.hubRenews)
        try connection.run("COMMIT")
    }

    private static let drawing = "UPDATE rooms SET epoch = random() | 1"

    /// Compares the log with what is known of it outside, draws new epochs if it went back or is another's, and opens its high mark.
    ///
    /// - Parameter reasons: Why new epochs are to be drawn in any case.
    /// - Returns: The mark, the number of the last transaction, and why new epochs were drawn.
    func settleHigh(
        _ connection: SQLiteConnection, _ reasons: [LogRenewal], _ hook: StoreHook?
    ) throws(RoomLogError) -> (NumberFile, commits: Int64, [LogRenewal]) {
        let mark = try disk { () throws(Disk.Failure) in try NumberFile.read(high) }
        var reasons = reasons
        var commits: Int64
        let known: Known
        do throws(SQLiteFailure) {
            guard let number = try connection.number("SELECT value FROM meta WHERE name = 'commits'"), number >= 0 else {
                throw .damaged("the number of transactions is missing")
            }
            commits = number
            known = Known(
                file: try identity("file", connection), high: try identity("high", connection), lock: try identity("lock", connection))
        } catch { throw RoomLogError(error, directory) }
        // Nobody has had it before: a new one, one of an older version, or a backup.
        let isFirst = known.file == nil && known.high == nil
        if !isFirst { reasons += strangeness(mark, known) }
        if case .number(let last) = mark, last > commits { reasons.append(.rewound(to: commits, from: last)) }
        switch mark {
        case .number: break
        // As long as no number is there, a start that comes after this one's sudden end draws again.
        case .missing, .damaged, .unfinished:
            let number = isFirst ? commits : nil
            try disk { () throws(Disk.Failure) in try NumberFile.make(high, number) }
        }
        if isFirst || !reasons.isEmpty {
            if case .number(let last) = mark { commits = max(commits, last) }
            commits += 1
            try record(commits, drawsEpochs: !reasons.isEmpty, connection, reasons.isEmpty ? nil : hook)
        }
        let last = commits
        let file = try disk { () throws(Disk.Failure) in
            let file = try NumberFile(high)
            try file.write(last)
            try Disk.sync(high)
            return file
        }
        return (file, last, reasons)
    }

    /// Which files of the disk a log was in.
    private struct Known {
        var file: FileIdentity?
        var high: FileIdentity?
        /// Nobody writes the lock: if it has changed, somebody has put back the whole directory, file over file.
        ///
        /// A copy that is put back so agrees with itself in all that it holds; numbers of files stay, and times of writing are set back with
        /// the copy. Only the moment of the last change, which no program can set, tells. New rights change that moment, too, so
        /// `chmod -R` costs new epochs: nobody can tell the two apart, and a log that has gone back is never to be missed.
        var lock: FileIdentity?
    }

    /// What says that the log is not where it was, or that nobody can tell.
    private func strangeness(_ mark: NumberFile.Content, _ known: Known) -> [LogRenewal] {
        var reasons: [LogRenewal] = []
        func isSame(_ known: FileIdentity?, _ path: String) -> Bool {
            guard let known, let present = FileIdentity(path: path, isUnchanging: path == lock) else { return false }
            return known.isSame(as: present)
        }
        if !isSame(known.file, file) || !isSame(known.lock, lock) { reasons.append(.moved) }
        switch mark {
        case .missing: reasons.append(.noMark)
        case .damaged: reasons.append(.damagedMark)
        case .unfinished: reasons.append(.unfinished)
        case .number: if reasons.isEmpty, !isSame(known.high, high) { reasons.append(.moved) }
        }
        return reasons
    }

    /// Writes down where the log stands, and gives its rooms other epochs if they need them, in one transaction.
    private func record(
        _ commits: Int64, drawsEpochs: Bool, _ connection: SQLiteConnection, _ hook: StoreHook?
    ) throws(RoomLogError) {
        do throws(SQLiteFailure) {
            try connection.run("BEGIN IMMEDIATE")
            if drawsEpochs { try connection.run(Self.drawing) }
            let noting = try connection.prepare(
                "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value")
            try noting.run("commits", commits)
            for (name, path) in [("file", file), ("high", high), ("lock", lock)] {
                guard let identity = FileIdentity(path: path, isUnchanging: path == lock) else {
                    throw SQLiteFailure.unreachable("\(path) is gone")
                }
                try noting.run(name, identity.description)
            }
            hook?(.hubRenews)
            try connection.run("COMMIT")
        } catch { throw RoomLogError(error, directory) }
    }

    private func identity(_ name: String, _ connection: SQLiteConnection) throws(SQLiteFailure) -> FileIdentity? {
        try connection.text("SELECT value FROM meta WHERE name = '\(name)'").flatMap { FileIdentity($0) }
    }

    private func disk<Result>(_ body: () throws(Disk.Failure) -> Result) throws(RoomLogError) -> Result {
        do throws(Disk.Failure) { return try body() } catch {
            switch error.number {
            case ENOSPC, EDQUOT: throw .full
            case EROFS, EACCES, EPERM: throw .readOnly(high)
            default: throw .failed("\(high): \(error.text)")
            }
        }
    }
}
