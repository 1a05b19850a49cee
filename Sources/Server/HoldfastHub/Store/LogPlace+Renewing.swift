import Foundation
import RoomsStorage
import WebSocketRuntime

// Detects whether the log has gone back since a hub last used it, and draws new epochs then: a sequence number must not be used twice in
// one epoch.
extension LogPlace {
    /// Gives a backup new epochs, and marks it as a normal log, in one transaction.
    ///
    /// The transaction uses no write-ahead log. If the process dies, the file is still a backup, without a journal beside it that could
    /// belong to another file.
    func renewCopy(_ hook: StoreHook?) throws(SQLiteFailure) {
        let connection = try SQLiteConnection(file)
        try connection.run(
            """
            PRAGMA journal_mode = DELETE; PRAGMA synchronous = EXTRA; PRAGMA fullfsync = ON;
            BEGIN IMMEDIATE;
            \(Self.drawing);
            PRAGMA application_id = \(Self.application);
            """)
        // The state of the original log does not matter here.
        if try connection.number("SELECT 1 FROM sqlite_schema WHERE name = 'meta'") != nil {
            try connection.run("DELETE FROM meta WHERE name IN ('file', 'high', 'lock')")
        }
        hook?(.hubRenews)
        try connection.run("COMMIT")
    }

    private static let drawing = "UPDATE rooms SET epoch = random() | 1"

    /// Compares the log with its high mark, draws new epochs if it went back or was replaced, and opens the high mark.
    ///
    /// - Parameter reasons: Reasons to draw new epochs in any case.
    /// - Returns: The mark, the number of the last transaction, and the reasons why new epochs were drawn.
    func settleHigh(
        _ connection: SQLiteConnection, _ reasons: [LogRenewal], _ hook: StoreHook?
    ) throws(RoomLogError) -> (NumberFile, commits: Int64, [LogRenewal]) {
        let mark = try disk { () throws(Disk.Failure) in try NumberFile.read(high) }
        var reasons = reasons
        var commits: Int64
        let known: KnownFiles
        do throws(SQLiteFailure) {
            guard let number = try connection.number("SELECT value FROM meta WHERE name = 'commits'"), number >= 0 else {
                throw .damaged("the number of transactions is missing")
            }
            commits = number
            known = KnownFiles(
                file: try identity("file", connection), high: try identity("high", connection), lock: try identity("lock", connection))
        } catch { throw RoomLogError(error, directory) }
        // No hub has used the log before: it is new, of an older version, or a backup.
        let isFirst = known.file == nil && known.high == nil
        if !isFirst { reasons += mismatches(mark, known) }
        if case .number(let last) = mark, last > commits { reasons.append(.rewound(to: commits, from: last)) }
        switch mark {
        case .number: break
        // While no number is stored there, a start after a crash of this one draws new epochs again.
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

    /// The identities of a log's files.
    private struct KnownFiles {
        var file: FileIdentity?
        var high: FileIdentity?
        /// The lock file is never written: if it has changed, the whole directory was restored, file over file.
        ///
        /// Such a restored copy is consistent in itself; inode numbers stay, and modification times are restored with it. Only the time
        /// of the last status change, which no program can set, shows it. A change of permissions also changes that time, so `chmod -R`
        /// causes new epochs: the two cases look the same, and a log that went back must never be missed.
        var lock: FileIdentity?
    }

    /// Returns the signs that the log was moved or replaced, or that this is unknown.
    private func mismatches(_ mark: NumberFile.Content, _ known: KnownFiles) -> [LogRenewal] {
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

    /// Stores the state of the log, and gives its rooms new epochs if needed, in one transaction.
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

/// A reason why all rooms of a log got new epochs when it was opened: clients may know more than the log contains.
package enum LogRenewal: Hashable, Sendable, CustomStringConvertible {
    /// The configuration asked for it.
    case asked
    /// The file is a backup.
    case backup
    /// The log's last transaction, and the last transaction that was committed.
    case rewound(to: Int64, from: Int64)
    /// The database, its high mark or its lock is not the file that the last hub used, or the lock was overwritten.
    case moved
    /// There is no high mark.
    case noMark
    /// The high mark is invalid.
    case damagedMark
    /// An earlier start began to draw new epochs and was interrupted.
    case unfinished
    /// The journal contains the ends of this many transactions after the last one that can be read.
    case lostTransactions(Int)

    /// The reason in words, for people.
    package var description: String {
        switch self {
        case .asked: "it was asked for"
        case .backup: "the log is a backup"
        case .rewound(let last, let high):
            """
            the log ends with transaction \(last), but \(high) were committed: its journal is damaged or missing, or it is an older copy
            """
        case .moved:
            """
            the log's files are not those of the last hub, or were overwritten: its directory was copied or restored, or got \
            other permissions
            """
        case .noMark: "the file high is missing, which stores the number of the last transaction"
        case .damagedMark: "the file high is damaged, which stores the number of the last transaction"
        case .unfinished: "an earlier start began to draw new epochs and was interrupted"
        case .lostTransactions(let count): "the journal is damaged: \(count) more transactions end after its readable part"
        }
    }
}

/// The state in which a log was opened.
package struct LogOpening: Hashable, Sendable {
    /// Why all rooms got new epochs; empty if they keep theirs.
    package var renewals: [LogRenewal] = []
    /// The time of the log's clock, in milliseconds since 1970 UTC, which decides what is forgotten; 0 for a new log.
    package var time: Int64 = 0
}
