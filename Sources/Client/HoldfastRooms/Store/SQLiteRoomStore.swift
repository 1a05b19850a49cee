import Foundation
import Logging
public import RoomCore
package import RoomsStorage
import WebSocketRuntime

#if !Rooms
    #error("HoldfastRooms needs its trait of the package: .package(url: \"…\", traits: [.defaults, \"Rooms\"])")
#endif

/// A store in an SQLite file: committed changes survive a crash of the process at any point, and a power failure.
///
/// The store needs a directory of its own, which only one process may have open at a time; the store refuses a second one. Only the owner
/// may read the files. On Apple's systems the directory is encrypted until the device is unlocked for the first time, and is excluded
/// from backups: a restored outbox would send messages a second time. (If a backup is restored all the same, the client detects it and
/// renews itself.) Keep the directory in the app's own container: the system terminates suspended apps that hold a file lock in a group
/// container.
public final class SQLiteRoomStore: RoomStore {
    private let (reading, writing): (StoreLane, StoreLane)
    // Declared last, so that it is released after both connections are closed.
    private let lock: FileLock
    private let limit: Int64
    private let hook: StoreHook?

    /// Opens a store, or creates it; a store that is damaged or too new is left unchanged.
    ///
    /// Opening may wait five seconds for another program that reads the file.
    ///
    /// - Parameters:
    ///   - path: The store's own directory, which is created if it does not exist.
    ///   - entriesPerRoom: The maximum number of entries to keep per room, at least 1; the oldest are dropped first.
    public convenience init(path: String, entriesPerRoom: Int = 10_000) throws(RoomStoreError) {
        try self.init(path: path, entriesPerRoom: entriesPerRoom, hook: nil)
    }

    /// - Parameter warn: Receives warnings for the operator.
    package init(
        path: String, entriesPerRoom: Int = 10_000, hook: StoreHook?,
        warn: (String) -> Void = { Logger(label: "holdfast.rooms").warning("\($0)") }
    ) throws(RoomStoreError) {
        (limit, self.hook) = (Int64(max(entriesPerRoom, 1)), hook)
        lock = try Self.take(path, warn)
        (reading, writing) = try StoreLane.reporting(path) { try Self.open(path) }
    }

    private static func take(_ path: String, _ warn: (String) -> Void) throws(RoomStoreError) -> FileLock {
        do throws(Disk.Failure) { try Disk.makeDirectory(path) } catch { throw RoomStoreError(error, path) }
        // Other users of the machine must not read the files.
        let files = ["", "-wal", "-shm", "-journal"].map { path + "/rooms.sqlite" + $0 } + [path + "/lock"]
        let said: [String]
        do throws(Disk.UnsafeFile) { said = try Disk.closeToOthers([path] + files) } catch { throw .failed(error.text) }
        for sentence in said { warn(sentence) }
        #if canImport(Darwin)
            for sentence in StoreProtection.protect(path, files) { warn(sentence) }
        #endif
        do throws(FileLock.Failure) { return try FileLock(path + "/lock") } catch { throw RoomStoreError(error, path) }
    }

    private static func open(_ path: String) throws -> (reading: StoreLane, writing: StoreLane) {
        let file = path + "/rooms.sqlite"
        if FileManager.default.fileExists(atPath: file) {
            // Checks before anything is written, because a file that is not ours must stay unchanged.
            do {
                try StoreTables(SQLiteConnection(file, isReadOnly: true)).areThere()
            } catch let error as SQLiteFailure where error.isUnfinished {
                // A program ended while it created the file: SQLite rolls back the unfinished transaction.
                try StoreTables(SQLiteConnection(file)).areThere()
            }
        }
        // Creates the file with permissions for its owner only; the files beside it inherit them.
        do throws(Disk.Failure) { try Disk.makeFile(file) } catch { throw RoomStoreError(error, file) }
        func connect() throws(SQLiteFailure) -> StoreTables {
            let connection = try SQLiteConnection(file)
            // A message that is reported as queued must be on disk.
            try connection.writeAhead()
            return StoreTables(connection)
        }
        let (reader, writer) = (try connect(), try connect())
        guard try writer.connection.text("PRAGMA journal_mode") == "wal" else {
            throw RoomStoreError.failed("\(file) does not support a write-ahead log")
        }
        try writer.connection.transaction("BEGIN IMMEDIATE") { try writer.prepare() }
        try reader.connection.run("PRAGMA query_only = ON")
        return (StoreLane(path, "reading", "BEGIN", reader), StoreLane(path, "writing", "BEGIN IMMEDIATE", writer))
    }

    /// Closes the store when the current operations are done, and waits for them; operations that have not begun are refused.
    ///
    /// A store closes by itself when its last reference is released.
    public func close() throws(RoomStoreError) {
        // Throws only so that callers of earlier versions still compile.
        reading.refuse()
        writing.refuse()
        reading.close()
        writing.close()
        lock.release()
    }

    /// The maximum number of entries to keep per room.
    public var entriesPerRoom: Int { Int(limit) }

    /// Returns the device ID of this store.
    public func device() async throws(RoomStoreError) -> DeviceID { try await reading.run { try $0.device() } }

    /// Returns the rooms with stored entries or a non-empty outbox, sorted by name.
    public func rooms() async throws(RoomStoreError) -> [StoredRoomSummary] { try await reading.run { try $0.summaries() } }

    /// Returns the stored state of a room; it is empty if the room is unknown.
    public func room(_ name: RoomName) async throws(RoomStoreError) -> StoredRoom {
        try await reading.run { tables in
            guard let row = try tables.room(name) else { return StoredRoom() }
            return StoredRoom(
                cursor: row.bounds.cursor, first: row.bounds.first, next: row.bounds.next, outbox: try tables.outbox(row, name),
                read: row.bounds.read, proof: row.bounds.proof)
        }
    }

    /// Applies changes in one transaction, which is on disk when this returns.
    public func commit(_ changes: [StoreChange]) async throws(RoomStoreError) {
        let (hook, limit) = (hook, limit)
        let queues = changes.contains { if case .queue = $0 { true } else { false } }
        hook?(queues ? .clientQueues : .clientReceived)
        try await writing.run { tables in
            var writing = StoreTables.Writing(tables, limit: limit)
            for change in changes {
                try writing.apply(change)
                if !queues { hook?(.clientReceivedPartly) }
            }
            try writing.finish()
            hook?(queues ? .clientQueuesUncommitted : .clientReceivedUncommitted)
        }
        hook?(queues ? .clientQueued : .clientCommitted)
    }

    /// Returns the last stored entries of a room before a sequence number, in order.
    public func entries(_ room: RoomName, before: Int64?, limit: Int) async throws(RoomStoreError) -> [Entry] {
        try await reading.run { tables in try tables.room(room).map { try tables.entries($0, before: before, limit: limit) } ?? [] }
    }

    /// Returns the first stored entries of a room after a position, in order; nil if the entries after that position are not stored.
    public func entries(_ room: RoomName, after: LogPosition, limit: Int) async throws(RoomStoreError) -> [Entry]? {
        try await reading.run { tables in
            guard let row = try tables.room(room), row.bounds.follows(after) else { return nil }
            return try tables.entries(row, after: after.seq, limit: limit)
        }
    }

    /// Returns the journal mode and the synchronous mode of the connection that writes.
    package func durability() async throws(RoomStoreError) -> [String] {
        try await writing.run { tables in
            try ["journal_mode", "synchronous"].map { try tables.connection.text("PRAGMA \($0)") ?? "" }
        }
    }
}

/// One connection of a store with its own queue, on which it blocks for the disk; a started transaction always runs to its end.
private actor StoreLane {
    private let path: String
    private let begin: String
    // SAFETY: it is only used on the queue: the actor runs there, and `close` goes there.
    private nonisolated(unsafe) var tables: StoreTables?
    private nonisolated let queue: BlockingQueue
    private nonisolated let isClosing = LockedValue(false)
    nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }

    init(_ path: String, _ name: String, _ begin: String, _ tables: StoreTables) {
        (self.path, self.begin, self.tables) = (path, begin, tables)
        queue = BlockingQueue("holdfast.rooms." + name)
    }

    /// Runs a transaction.
    func run<Value: Sendable>(_ body: @Sendable (StoreTables) throws -> Value) throws(RoomStoreError) -> Value {
        guard let tables, !isClosing.withLockedValue({ $0 }) else { throw .closed }
        return try Self.reporting(path) { try tables.connection.transaction(begin) { try body(tables) } }
    }

    nonisolated func refuse() { isClosing.withLockedValue { $0 = true } }

    /// Releases the connection after its current operation.
    nonisolated func close() { queue.sync { tables = nil } }

    static func reporting<Value>(_ path: String, _ body: () throws -> Value) throws(RoomStoreError) -> Value {
        do { return try body() } catch {
            throw switch error {
            case let error as RoomStoreError: error
            case let error as SQLiteFailure: RoomStoreError(error, path)
            default: .failed(String(describing: error))
            }
        }
    }
}
