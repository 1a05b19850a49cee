import GRDBSQLite

/// A connection to a file of SQLite, for one thread at a time.
///
/// Statements are prepared once and bound by hand, for what a hub's log costs is the time per row.
final class SQLiteConnection {
    fileprivate let handle: OpaquePointer

    /// Opens a file that is there; an empty one is a new database.
    init(_ path: String) throws(SQLiteFailure) {
        var opened: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        let code = sqlite3_open_v2(path, &opened, flags, nil)
        guard code == SQLITE_OK, let opened else {
            let failure = SQLiteFailure(code: code, message: opened.map { String(cString: sqlite3_errmsg($0)) } ?? "out of memory")
            sqlite3_close_v2(opened)
            throw failure
        }
        handle = opened
        // A backup or somebody's look from outside may hold a lock for a moment.
        sqlite3_busy_timeout(handle, 5000)
    }

    // Statements that are alive still keep it open until they are gone.
    deinit { sqlite3_close_v2(handle) }

    /// Whether no transaction is open.
    var isIdle: Bool { sqlite3_get_autocommit(handle) != 0 }

    /// Runs statements that give nothing back.
    func run(_ sql: String) throws(SQLiteFailure) {
        guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw failure }
    }

    /// Prepares a statement that is used many times.
    func prepare(_ sql: String) throws(SQLiteFailure) -> SQLiteStatement { try SQLiteStatement(sql, on: self) }

    /// The first column of the first row, as a number.
    func number(_ sql: String) throws(SQLiteFailure) -> Int64? {
        let statement = try prepare(sql)
        return try statement.step() ? statement.number(0) : nil
    }

    /// The first column of the first row, as text.
    func text(_ sql: String) throws(SQLiteFailure) -> String? {
        let statement = try prepare(sql)
        return try statement.step() ? statement.text(0) : nil
    }

    fileprivate var failure: SQLiteFailure {
        SQLiteFailure(code: sqlite3_extended_errcode(handle), message: String(cString: sqlite3_errmsg(handle)))
    }
}

/// A prepared statement.
final class SQLiteStatement {
    private let handle: OpaquePointer
    private let connection: SQLiteConnection
    /// Tells SQLite to copy what is bound.
    private static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    fileprivate init(_ sql: String, on connection: SQLiteConnection) throws(SQLiteFailure) {
        var prepared: OpaquePointer?
        guard sqlite3_prepare_v3(connection.handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil) == SQLITE_OK,
            let prepared
        else { throw connection.failure }
        (handle, self.connection) = (prepared, connection)
    }

    deinit { sqlite3_finalize(handle) }

    @discardableResult
    func bind(_ place: Int32, _ number: Int64) -> Self {
        sqlite3_bind_int64(handle, place, number)
        return self
    }

    @discardableResult
    func bind(_ place: Int32, _ text: String) -> Self {
        sqlite3_bind_text(handle, place, text, -1, Self.copied)
        return self
    }

    @discardableResult
    func bind(_ place: Int32, _ bytes: [UInt8]) -> Self {
        bytes.withUnsafeBytes { _ = sqlite3_bind_blob(handle, place, $0.baseAddress, Int32($0.count), Self.copied) }
        return self
    }

    @discardableResult
    func bindNothing(_ place: Int32) -> Self {
        sqlite3_bind_null(handle, place)
        return self
    }

    /// Whether there is a row; whoever does not read on to the end resets it.
    func step() throws(SQLiteFailure) -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE:
            sqlite3_reset(handle)
            return false
        default:
            let failure = connection.failure
            sqlite3_reset(handle)
            throw failure
        }
    }

    /// Runs it to its end, which gives no rows.
    func run() throws(SQLiteFailure) { while try step() {} }

    /// The same, with bytes that are bound where they lie.
    func run(with bytes: [UInt8], at place: Int32) throws(SQLiteFailure) {
        let done = bytes.withUnsafeBytes { buffer in
            sqlite3_bind_blob(handle, place, buffer.baseAddress, Int32(buffer.count), nil)
            return sqlite3_step(handle) == SQLITE_DONE
        }
        guard done else {
            let failure = connection.failure
            sqlite3_reset(handle)
            throw failure
        }
        sqlite3_reset(handle)
    }

    /// Lets go of the rows that were not read.
    func reset() { sqlite3_reset(handle) }

    func number(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    func text(_ column: Int32) -> String { sqlite3_column_text(handle, column).map { String(cString: $0) } ?? "" }

    /// The bytes of a column; they stand until the next step.
    func bytes(_ column: Int32) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: sqlite3_column_blob(handle, column), count: Int(sqlite3_column_bytes(handle, column)))
    }
}

extension SQLiteConnection {
    /// The row that was inserted last.
    var lastRow: Int64 { sqlite3_last_insert_rowid(handle) }
    /// How many pages it has written since it was opened: into the journal.
    var pagesWritten: Int {
        var (count, most): (Int32, Int32) = (0, 0)
        sqlite3_db_status(handle, SQLITE_DBSTATUS_CACHE_WRITE, &count, &most, 0)
        return Int(count)
    }
    /// How many rows the last statement changed.
    var changes: Int { Int(sqlite3_changes(handle)) }
}
