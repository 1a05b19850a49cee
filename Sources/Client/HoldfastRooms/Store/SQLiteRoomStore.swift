import Foundation
import Logging
public import RoomCore
package import RoomsStorage
import WebSocketRuntime

#if !Rooms
    #error("HoldfastRooms needs its trait of the package: .package(url: \"…\", traits: [.defaults, \"Rooms\"])")
#endif

/// A store in a file of SQLite: what it has committed survives the end of the process, at any instruction, and of the power.
///
/// It has a directory of its own, which one process may have open at a time; another is refused. Only its owner may read it. On Apple's
/// systems it is encrypted until the device is unlocked for the first time, and stays out of backups: an outbox that was restored would send
/// again what was sent. (If it happens all the same the client sees it, and renews itself.) Keep it in the app's own container: the system ends apps that sleep while they hold a file of a group's container.
public final class SQLiteRoomStore: RoomStore {
    private let (reading, writing): (StoreLane, StoreLane)
    // Declared last, so that it is released after both connections are closed.
    private let lock: FileLock
    private let limit: Int64
    private let hook: StoreHook?

    /// Opens a store, or makes one; what is damaged or too new is left as it is.
    ///
    /// It may wait five seconds for another program that reads the file.
    ///
    /// - Parameters:
    ///   - path: A directory of its own, made if there is none.
    ///   - entriesPerRoom: How many entries of a room are kept at most; the oldest go first. At least 1.
    public convenience init(path: String, entriesPerRoom: Int = 10_000) throws(RoomStoreError) {
        try self.init(path: path, entriesPerRoom: entriesPerRoom, hook: nil)
    }

    /// - Parameter warn: Takes sentences for whoever runs this.
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
        // Other users of the machine have no business here.
        let files = ["", "-wal", "-shm", "-journal"].map { path + "/rooms.sqlite" + $0 } + [path + "/lock"]
        let said: [String]
        do throws(Disk.Exposure) { said = try Disk.closeToOthers([path] + files) } catch { throw .failed(error.text) }
        for sentence in said { warn(sentence) }
        #if canImport(Darwin)
            for sentence in StoreProtection.protect(path, files) { warn(sentence) }
        #endif
        do throws(FileLock.Failure) { return try FileLock(path + "/lock") } catch { throw RoomStoreError(error, path) }
    }

    private static func open(_ path: String) throws -> (reading: StoreLane, writing: StoreLane) {
        let file = path + "/rooms.sqlite"
        if FileManager.default.fileExists(atPath: file) {
            // Before anything is written: a file that is not ours is left as it is.
            do {
                try StoreTables(SQLiteConnection(file, isReadOnly: true)).areThere()
            } catch let error as SQLiteFailure where error.isUnfinished {
                // A program ended while it made the file: SQLite takes back what was begun.
                try StoreTables(SQLiteConnection(file)).areThere()
            }
        }
        // With rights for its owner only, which what lies beside it takes over.
        do throws(Disk.Failure) { try Disk.makeFile(file) } catch { throw RoomStoreError(error, file) }
        func connect() throws(SQLiteFailure) -> StoreTables {
            let connection = try SQLiteConnection(file)
            // What is said to be queued is on disk.
            try connection.writeAhead()
            return StoreTables(connection)
        }
        let (reader, writer) = (try connect(), try connect())
        guard try writer.connection.text("PRAGMA journal_mode") == "wal" else { throw RoomStoreError.failed("\(file) gets no journal") }
        try writer.connection.transaction("BEGIN IMMEDIATE") { try writer.prepare() }
        try reader.connection.run("PRAGMA query_only = ON")
        return (StoreLane(path, "reading", "BEGIN", reader), StoreLane(path, "writing", "BEGIN IMMEDIATE", writer))
    }

    /// Lets go of the directory when what is being done is done, and waits for that; what has not begun is refused.
    ///
    /// A store that nobody holds any more does so by itself.
    public func close() throws(RoomStoreError) {
        // It throws only so that callers of earlier versions still compile.
        reading.refuse()
        writing.refuse()
        reading.close()
        writing.close()
        lock.release()
    }

    /// How many entries of a room are kept at most.
    public var entriesPerRoom: Int { Int(limit) }

    /// The incarnation of this store.
    public func device() async throws(RoomStoreError) -> DeviceID { try await reading.run { try $0.device() } }

    /// The rooms of which something is stored, or whose outbox holds something, by their names.
    public func rooms() async throws(RoomStoreError) -> [StoredRoomSummary] { try await reading.run { try $0.summaries() } }

    /// What is stored of a room; of one that nobody knows, nothing.
    public func room(_ name: RoomName) async throws(RoomStoreError) -> StoredRoom {
        try await reading.run { tables in
            guard let row = try tables.room(name) else { return StoredRoom() }
            return StoredRoom(
                cursor: row.bounds.cursor, first: row.bounds.first, next: row.bounds.next, outbox: try tables.outbox(row, name),
                read: row.bounds.read, proof: row.bounds.proof)
        }
    }

    /// Writes changes in one transaction, which is on disk when this returns.
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

    /// The last stored entries of a room below a number, in order.
    public func entries(_ room: RoomName, before: Int64?, limit: Int) async throws(RoomStoreError) -> [Entry] {
        try await reading.run { tables in try tables.room(room).map { try tables.entries($0, before: before, limit: limit) } ?? [] }
    }

    /// The first stored entries of a room after a place, in order; nil if what follows that place is not stored.
    public func entries(_ room: RoomName, after: LogPosition, limit: Int) async throws(RoomStoreError) -> [Entry]? {
        try await reading.run { tables in
            guard let row = try tables.room(room), row.bounds.follows(after) else { return nil }
            return try tables.entries(row, after: after.seq, limit: limit)
        }
    }

    /// How the connection that writes keeps what it writes: its journal, and how it waits for the disk.
    package func durability() async throws(RoomStoreError) -> [String] {
        try await writing.run { tables in
            try ["journal_mode", "synchronous"].map { try tables.connection.text("PRAGMA \($0)") ?? "" }
        }
    }
}

/// A connection of a store, where it waits for its disk; what is done there is done to its end.
private actor StoreLane {
    private let path: String
    private let begin: String
    // SAFETY: it is reached on the queue only: that is where the actor runs, and `close` goes there.
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
        guard let tables, !isClosing.withLockedValue(\.self) else { throw .closed }
        return try Self.reporting(path) { try tables.connection.transaction(begin) { try body(tables) } }
    }

    nonisolated func refuse() { isClosing.withLockedValue { $0 = true } }

    /// Lets go of the connection, after what it does.
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
