import CRoomsSQLite

/// What SQLite said when something did not work.
@usableFromInline package struct SQLiteFailure: Error, Hashable {
    /// Its extended result code.
    package let code: Int32
    /// What it says for people.
    package let message: String

    init(code: Int32, message: String) { (self.code, self.message) = (code, message) }

    /// A file that holds what was never written by us.
    package static func damaged(_ message: String) -> SQLiteFailure { SQLiteFailure(code: SQLITE_CORRUPT, message: message) }
    /// A transaction that ended without us.
    package static func aborted(_ message: String) -> SQLiteFailure { SQLiteFailure(code: SQLITE_ABORT, message: message) }
    /// A file that cannot be opened.
    package static func unreachable(_ message: String) -> SQLiteFailure { SQLiteFailure(code: SQLITE_CANTOPEN, message: message) }
    /// Something is asked of what was closed.
    ///
    /// SQLite has no such code.
    package static let closed = SQLiteFailure(code: -1, message: "closed")

    /// Whether what is stored is damaged; anything else may pass.
    package var isDamage: Bool { code & 0xFF == SQLITE_CORRUPT }
    /// Whether a program ended while it wrote, so that only who may write can read the file.
    package var isUnfinished: Bool { code == SQLITE_READONLY | 3 << 8 }
    /// Whether the disk is full; the file that two connections share (`-shm`) needs room, too.
    package var isFull: Bool { code & 0xFF == SQLITE_FULL || code == SQLITE_IOERR | 19 << 8 }
}

extension StorageError {
    /// The same, as those hear it who know of no SQLite.
    package init(_ failure: SQLiteFailure, _ path: String) {
        switch failure.code & 0xFF {
        case _ where failure == .closed: self = .closed
        case _ where failure.isFull: self = .full
        case SQLITE_READONLY, SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_AUTH: self = .readOnly(path)
        case SQLITE_CORRUPT, SQLITE_NOTADB: self = .corrupt(failure.message)
        default: self = .failed("\(failure.message) (SQLite \(failure.code))")
        }
    }
}
