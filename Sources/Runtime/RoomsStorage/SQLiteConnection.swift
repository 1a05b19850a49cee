import CRoomsSQLite
package import WebSocketRuntime

/// A connection to an SQLite file, for one thread at a time.
package final class SQLiteConnection {
    fileprivate let handle: OpaquePointer

    /// Opens an existing file; an empty one is a new database.
    package init(_ path: String, isReadOnly: Bool = false) throws(SQLiteFailure) {
        var opened: OpaquePointer?
        let flags = (isReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE) | SQLITE_OPEN_NOMUTEX
        let code = sqlite3_open_v2(path, &opened, flags, nil)
        guard code == SQLITE_OK, let opened else {
            let failure = opened.map { SQLiteFailure(of: $0) } ?? SQLiteFailure(code: code, message: "out of memory")
            sqlite3_close_v2(opened)
            throw failure
        }
        handle = opened
        sqlite3_extended_result_codes(handle, 1)
        // A backup, or another program, may hold a lock for a moment.
        sqlite3_busy_timeout(handle, 5000)
    }

    // Living statements keep the connection open until they are released.
    deinit { sqlite3_close_v2(handle) }

    /// Enables write-ahead logging with durable commits; on Apple's systems this needs more than fsync.
    package func writeAhead() throws(SQLiteFailure) {
        try run("PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
    }

    /// Whether no transaction is open.
    package var isIdle: Bool { sqlite3_get_autocommit(handle) != 0 }
    /// The ID of the row that was inserted last.
    package var lastRow: Int64 { sqlite3_last_insert_rowid(handle) }
    /// The number of rows that the last statement changed.
    package var changes: Int { Int(sqlite3_changes(handle)) }
    /// The number of pages written to the journal since the connection was opened.
    package var pagesWritten: Int {
        var (count, most): (Int32, Int32) = (0, 0)
        sqlite3_db_status(handle, SQLITE_DBSTATUS_CACHE_WRITE, &count, &most, 0)
        return Int(count)
    }

    /// Runs statements without results.
    package func run(_ sql: String) throws(SQLiteFailure) {
        guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw SQLiteFailure(of: handle) }
    }

    /// Runs a transaction: either all of it takes effect, or nothing.
    ///
    /// - Parameter begin: `BEGIN IMMEDIATE` for a transaction that writes.
    package func transaction<Result>(_ begin: String, _ body: () throws -> Result) throws -> Result {
        try run(begin)
        do {
            let result = try body()
            try run("COMMIT")
            return result
        } catch {
            // A trigger or a full disk may have ended the transaction.
            if !isIdle { try? run("ROLLBACK") }
            throw error
        }
    }

    /// Prepares a statement for repeated use.
    package func prepare(_ sql: String) throws(SQLiteFailure) -> SQLiteStatement { try SQLiteStatement(sql, on: self) }

    /// Returns the first column of the first row as a number.
    package func number(_ sql: String) throws(SQLiteFailure) -> Int64? { try prepare(sql).first { $0.number(0) } }

    /// Returns the first column of the first row as text.
    package func text(_ sql: String) throws(SQLiteFailure) -> String? { try prepare(sql).first { $0.text(0) } }
}

/// A prepared statement with its current row.
///
/// It is prepared once, because the time per row dominates the cost of a hub's log. The generic functions are inlinable, so that they are
/// specialized at their call sites.
@usableFromInline package final class SQLiteStatement {
    fileprivate let handle: OpaquePointer
    private let connection: SQLiteConnection
    /// Tells SQLite to copy the bound value.
    fileprivate static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    fileprivate init(_ sql: String, on connection: SQLiteConnection) throws(SQLiteFailure) {
        var prepared: OpaquePointer?
        guard sqlite3_prepare_v3(connection.handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil) == SQLITE_OK,
            let prepared
        else { throw SQLiteFailure(of: connection.handle) }
        (handle, self.connection) = (prepared, connection)
    }

    deinit { sqlite3_finalize(handle) }

    /// Runs the statement to its end; it must not return rows.
    @inlinable package func run<each Value: SQLiteValue>(_ values: repeat each Value) throws(SQLiteFailure) {
        try bind(repeat each values)
        defer { reset() }
        while try step() {}
    }

    /// Does the same with bytes as the last value, which are bound without a copy.
    @inlinable package func run<each Value: SQLiteValue>(_ values: repeat each Value, bytes: [UInt8]) throws(SQLiteFailure) {
        try run(bytes, at: try bind(repeat each values) + 1)
    }

    @usableFromInline func run(_ bytes: [UInt8], at place: Int32) throws(SQLiteFailure) {
        defer {
            reset()
            // The bytes are no longer valid after this function.
            sqlite3_bind_null(handle, place)
        }
        let code = bytes.withUnsafeBytes { buffer in
            // A nil pointer would be bound as NULL.
            let bound =
                buffer.isEmpty
                ? sqlite3_bind_zeroblob(handle, place, 0) : sqlite3_bind_blob(handle, place, buffer.baseAddress, Int32(buffer.count), nil)
            return bound == SQLITE_OK ? sqlite3_step(handle) : bound
        }
        guard code == SQLITE_DONE else { throw failure }
    }

    /// Reads row by row, until the body returns false.
    @inlinable package func read<each Value: SQLiteValue>(
        _ values: repeat each Value, while body: (SQLiteStatement) throws(SQLiteFailure) -> Bool
    ) throws(SQLiteFailure) {
        try bind(repeat each values)
        defer { reset() }
        while try step(), try body(self) {}
    }

    /// Converts each row.
    @inlinable package func rows<each Value: SQLiteValue, Row>(
        _ values: repeat each Value, each body: (SQLiteStatement) throws(SQLiteFailure) -> Row
    ) throws(SQLiteFailure) -> [Row] {
        var rows: [Row] = []
        try read(repeat each values) { row throws(SQLiteFailure) in
            rows.append(try body(row))
            return true
        }
        return rows
    }

    /// Converts the first row; returns nil if there is none.
    @inlinable package func first<each Value: SQLiteValue, Row>(
        _ values: repeat each Value, as body: (SQLiteStatement) throws(SQLiteFailure) -> Row
    ) throws(SQLiteFailure) -> Row? {
        var first: Row?
        try read(repeat each values) { row throws(SQLiteFailure) in
            first = try body(row)
            return false
        }
        return first
    }

    /// Binds values; returns the index of the last one.
    @discardableResult
    @inlinable func bind<each Value: SQLiteValue>(_ values: repeat each Value) throws(SQLiteFailure) -> Int32 {
        var place: Int32 = 0
        for value in repeat each values {
            place += 1
            // Fails if the statement is already running, or if there is no memory.
            guard value.bind(to: self, at: place) == 0 else { throw failure }
        }
        return place
    }

    @usableFromInline var failure: SQLiteFailure { SQLiteFailure(of: connection.handle) }

    @usableFromInline func reset() { sqlite3_reset(handle) }

    @usableFromInline func step() throws(SQLiteFailure) -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: true
        case SQLITE_DONE: false
        default: throw failure
        }
    }

    /// The type of a value in a row, whatever the table declares; with SQLite's own numbers.
    package enum Kind: Int32 { case number = 1, real, text, bytes, nothing }

    package func kind(_ column: Int32) -> Kind { Kind(rawValue: sqlite3_column_type(handle, column)) ?? .nothing }

    /// Returns the name of a column.
    package func name(_ column: Int32) -> String { sqlite3_column_name(handle, column).map { String(cString: $0) } ?? "" }

    package func number(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    package func text(_ column: Int32) -> String {
        guard let start = sqlite3_column_text(handle, column) else { return "" }
        return String(decoding: UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))), as: UTF8.self)
    }

    /// Returns the bytes of a column, which are valid until the next row.
    package func bytes(_ column: Int32) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: sqlite3_column_blob(handle, column), count: Int(sqlite3_column_bytes(handle, column)))
    }
}

/// A value that can be bound to a parameter of a statement.
@usableFromInline package protocol SQLiteValue {
    /// Binds the value; returns SQLite's result code, 0 for success.
    func bind(to statement: SQLiteStatement, at place: Int32) -> Int32
}

extension Int64: SQLiteValue {
    @usableFromInline package func bind(to statement: SQLiteStatement, at place: Int32) -> Int32 {
        sqlite3_bind_int64(statement.handle, place, self)
    }
}

extension String: SQLiteValue {
    @usableFromInline package func bind(to statement: SQLiteStatement, at place: Int32) -> Int32 {
        sqlite3_bind_text(statement.handle, place, self, Int32(utf8.count), SQLiteStatement.copied)
    }
}

extension [UInt8]: SQLiteValue {
    @usableFromInline package func bind(to statement: SQLiteStatement, at place: Int32) -> Int32 {
        // A nil pointer would be bound as NULL.
        if isEmpty { return sqlite3_bind_zeroblob(statement.handle, place, 0) }
        return withUnsafeBytes { sqlite3_bind_blob(statement.handle, place, $0.baseAddress, Int32($0.count), SQLiteStatement.copied) }
    }
}

extension Optional: SQLiteValue where Wrapped: SQLiteValue {
    @usableFromInline package func bind(to statement: SQLiteStatement, at place: Int32) -> Int32 {
        if let self { self.bind(to: statement, at: place) } else { sqlite3_bind_null(statement.handle, place) }
    }
}

extension SQLiteFailure {
    fileprivate init(of handle: OpaquePointer) {
        self.init(code: sqlite3_extended_errcode(handle), message: String(cString: sqlite3_errmsg(handle)))
    }
}

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

/// The errors of a store, on either side.
package protocol StorageError: Error {
    static var full: Self { get }
    static var closed: Self { get }
    static func readOnly(_ path: String) -> Self
    static func inUse(_ directory: String) -> Self
    static func corrupt(_ reason: String) -> Self
    static func failed(_ reason: String) -> Self
}

extension StorageError {
    /// Converts an error for a file or directory that cannot be created.
    package init(_ failure: Disk.Failure, _ path: String) { self = failure.isFull ? .full : .readOnly(path) }

    /// Converts an error for a directory that cannot be locked.
    package init(_ failure: FileLock.Failure, _ directory: String) {
        switch failure {
        case .held: self = .inUse(directory)
        case .system(let number): self.init(Disk.Failure(number: number), directory)
        }
    }
}
