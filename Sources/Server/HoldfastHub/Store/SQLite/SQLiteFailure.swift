import GRDBSQLite

/// What SQLite said when something did not work.
struct SQLiteFailure: Error, Hashable {
    /// Its extended result code.
    let code: Int32
    /// What it says for people.
    let message: String

    init(code: Int32, message: String) { (self.code, self.message) = (code, message) }

    /// A file that holds what was never written by us.
    static func damaged(_ message: String) -> SQLiteFailure { SQLiteFailure(code: SQLITE_CORRUPT, message: message) }

    /// Whether what is stored is damaged; anything else may pass.
    var isDamage: Bool { code & 0xFF == SQLITE_CORRUPT }

    /// The same, as those hear it who know of no SQLite.
    func roomLogError(path: String) -> RoomLogError {
        switch code & 0xFF {
        case SQLITE_FULL: .full
        case SQLITE_READONLY, SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_AUTH: .readOnly(path)
        case SQLITE_CORRUPT, SQLITE_NOTADB: .corrupt(message)
        default: .failed("\(message) (SQLite \(code))")
        }
    }
}
