import CRoomsSQLite

/// An error of SQLite.
@usableFromInline package struct SQLiteFailure: Error, Hashable {
    /// The extended result code.
    package let code: Int32
    /// The error message.
    package let message: String

    init(code: Int32, message: String) { (self.code, self.message) = (code, message) }

    /// Creates an error for a file with contents that this library has never written.
    package static func damaged(_ message: String) -> SQLiteFailure { SQLiteFailure(code: SQLITE_CORRUPT, message: message) }
    /// Creates an error for a transaction that has ended unexpectedly.
    package static func aborted(_ message: String) -> SQLiteFailure { SQLiteFailure(code: SQLITE_ABORT, message: message) }
    /// Creates an error for a file that cannot be opened.
    package static func unreachable(_ message: String) -> SQLiteFailure { SQLiteFailure(code: SQLITE_CANTOPEN, message: message) }
    /// The error for operations on a closed store.
    ///
    /// SQLite has no such code.
    package static let closed = SQLiteFailure(code: -1, message: "closed")

    /// Whether the file is damaged; any other error may be temporary.
    package var isDamage: Bool { code & 0xFF == SQLITE_CORRUPT }
    /// Whether a program ended while it wrote, so that the file can be read only with write access.
    package var isUnfinished: Bool { code == SQLITE_READONLY | 3 << 8 }
    /// Whether the disk is full; the shared-memory file (`-shm`) needs space, too.
    package var isFull: Bool { code & 0xFF == SQLITE_FULL || code == SQLITE_IOERR | 19 << 8 }
}

extension StorageError {
    /// Converts an SQLite error for callers that do not know SQLite.
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
