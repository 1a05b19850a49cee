import Foundation
import GRDB
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
    private let directory: String
    private let pool: DatabasePool
    private let lock: FileLock
    private let limit: Int64
    private let hook: StoreHook?
    private let (writing, reading) = (StoreThread("holdfast.rooms.writing"), StoreThread("holdfast.rooms.reading"))

    /// Opens a store, or makes one; what is damaged or too new is left as it is.
    ///
    /// It reads no more than the first page, and waits for no one.
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
        (directory, limit, self.hook) = (path, Int64(max(entriesPerRoom, 1)), hook)
        lock = try Self.take(path, warn)
        pool = try Self.open(path)
    }

    private static func take(_ path: String, _ warn: (String) -> Void) throws(RoomStoreError) -> FileLock {
        do throws(Disk.Failure) { try Disk.makeDirectory(path) } catch { throw error.isFull ? .full : .readOnly(path) }
        // Other users of the machine have no business here.
        let files = ["", "-wal", "-shm", "-journal"].map { path + "/rooms.sqlite" + $0 } + [path + "/lock"]
        let said: [String]
        do throws(Disk.Exposure) { said = try Disk.closeToOthers([path] + files) } catch { throw .failed(error.text) }
        for sentence in said { warn(sentence) }
        #if canImport(Darwin)
            for sentence in StoreProtection.protect(path, files) { warn(sentence) }
        #endif
        do throws(FileLock.Failure) { return try FileLock(path + "/lock") } catch {
            switch error {
            case .held: throw .inUse(path)
            case .system(let code) where code == ENOSPC: throw .full
            case .system: throw .readOnly(path)
            }
        }
    }

    private static func open(_ path: String) throws(RoomStoreError) -> DatabasePool {
        try Self.reporting(path) {
            var configuration = Configuration()
            configuration.label = "holdfast.rooms"
            configuration.busyMode = .timeout(5)
            configuration.maximumReaderCount = 1  // One thread reads.
            configuration.prepareDatabase { try $0.execute(sql: "PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON") }
            let file = path + "/rooms.sqlite"
            if FileManager.default.fileExists(atPath: file) {
                // Before anything is written: a file that is not ours is left as it is.
                var looking = configuration
                looking.readonly = true
                try Self.isOurs(DatabaseQueue(path: file, configuration: looking).read(Self.header))
            }
            // With rights for its owner only, which what lies beside it takes over.
            try Self.make(file)
            let pool = try DatabasePool(path: file, configuration: configuration)
            // What is said to be queued is on disk: every commit waits for it. GRDB would take NORMAL.
            try pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
            try pool.write { database in
                let header = try Self.header(database)
                if try !Self.isOurs(header) {
                    try StoreTables.create(database)
                } else if header.version < StoreTables.version {
                    try StoreTables.upgrade(database)
                }
            }
            return pool
        }
    }

    private static func make(_ file: String) throws(RoomStoreError) {
        do throws(Disk.Failure) { try Disk.makeFile(file) } catch { throw error.isFull ? .full : .readOnly(file) }
    }

    private static func header(_ database: Database) throws -> (application: Int64, version: Int64, tables: Int64) {
        func number(_ sql: String) throws -> Int64 { try Int64.fetchOne(database, sql: sql) ?? 0 }
        return try (
            number("PRAGMA application_id"), number("PRAGMA user_version"), number("SELECT count(*) FROM sqlite_master")
        )
    }

    /// Whether the tables are there.
    @discardableResult
    private static func isOurs(_ header: (application: Int64, version: Int64, tables: Int64)) throws -> Bool {
        if header.application == 0, header.tables == 0 { return false }
        guard header.application == StoreTables.application else { throw RoomStoreError.corrupt("it is not a store of rooms") }
        guard header.version <= StoreTables.version else { throw RoomStoreError.newer(header.version) }
        return true
    }

    /// Lets go of the directory; what comes after is refused.
    ///
    /// If it throws, the store is still open, and its directory held; it may be tried again.
    ///
    /// A store that nobody holds any more does so by itself.
    public func close() throws(RoomStoreError) {
        try Self.reporting(directory) { try pool.close() }
        lock.release()
    }

    /// How many entries of a room are kept at most.
    public var entriesPerRoom: Int { Int(limit) }

    /// The incarnation of this store.
    public func device() async throws(RoomStoreError) -> DeviceID { try await read(StoreTables.device) }

    /// The rooms of which something is stored, or whose outbox holds something, by their names.
    public func rooms() async throws(RoomStoreError) -> [StoredRoomSummary] { try await read(StoreTables.summaries) }

    /// What is stored of a room; of one that nobody knows, nothing.
    public func room(_ name: RoomName) async throws(RoomStoreError) -> StoredRoom {
        try await read { database in
            guard let row = try StoreTables.room(name, database) else { return StoredRoom() }
            return StoredRoom(
                cursor: row.bounds.cursor, first: row.bounds.first, next: row.bounds.next,
                outbox: try StoreTables.outbox(row, name, database), read: row.bounds.read, proof: row.bounds.proof)
        }
    }

    /// Writes changes in one transaction, which is on disk when this returns.
    public func commit(_ changes: [StoreChange]) async throws(RoomStoreError) {
        let (hook, limit) = (hook, limit)
        let queues = changes.contains { if case .queue = $0 { true } else { false } }
        try await reporting {
            hook?(queues ? .clientQueues : .clientReceived)
            try await self.transaction { database in
                var writing = StoreTables.Writing(database: database, limit: limit)
                for change in changes {
                    try writing.apply(change)
                    if !queues { hook?(.clientReceivedPartly) }
                }
                try writing.finish()
                hook?(queues ? .clientQueuesUncommitted : .clientReceivedUncommitted)
            }
            hook?(queues ? .clientQueued : .clientCommitted)
        }
    }

    /// The last stored entries of a room below a number, in order.
    public func entries(_ room: RoomName, before: Int64?, limit: Int) async throws(RoomStoreError) -> [Entry] {
        try await read { database in
            guard let row = try StoreTables.room(room, database) else { return [] }
            return try StoreTables.entries(row, before: before, limit: limit, database)
        }
    }

    /// The first stored entries of a room after a place, in order; nil if what follows that place is not stored.
    public func entries(_ room: RoomName, after: LogPosition, limit: Int) async throws(RoomStoreError) -> [Entry]? {
        try await read { database in
            guard let row = try StoreTables.room(room, database), row.bounds.follows(after) else { return nil }
            return try StoreTables.entries(row, after: after.seq, limit: limit, database)
        }
    }

    private func read<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws(RoomStoreError) -> Value {
        let pool = pool
        return try await reporting { try await self.reading.run { try pool.read(body) } }
    }

    private func transaction(_ body: @escaping @Sendable (Database) throws -> Void) async throws {
        let pool = pool
        try await writing.run { try pool.write(body) }
    }

    private func reporting<Value>(_ body: () async throws -> Value) async throws(RoomStoreError) -> Value {
        do { return try await body() } catch { throw Self.error(error, directory) }
    }

    private static func reporting<Value>(_ path: String, _ body: () throws -> Value) throws(RoomStoreError) -> Value {
        do { return try body() } catch { throw self.error(error, path) }
    }

    private static func error(_ error: any Error, _ path: String) -> RoomStoreError {
        switch error {
        case let error as RoomStoreError: error
        case is RowDecodingError: .corrupt("a value is not of its column's kind")
        case let error as DatabaseError:
            switch error.resultCode {
            case .SQLITE_FULL: .full
            // What two connections share beside the file finds no room.
            case _ where error.extendedResultCode == .SQLITE_IOERR_SHMSIZE: .full
            case .SQLITE_READONLY, .SQLITE_CANTOPEN, .SQLITE_PERM, .SQLITE_AUTH: .readOnly(path)
            case .SQLITE_CORRUPT, .SQLITE_NOTADB: .corrupt(error.message ?? "")
            case .SQLITE_MISUSE: .closed
            default: .failed("\(error.message ?? "") (SQLite \(error.extendedResultCode.rawValue))")
            }
        default: .failed(String(describing: error))
        }
    }
}

extension SQLiteRoomStore {
    /// How the connection that writes keeps what it writes: its journal, and how it waits for the disk.
    package func durability() async throws(RoomStoreError) -> [String] {
        try await reporting {
            let pool = self.pool
            return try await self.writing.run {
                try pool.writeWithoutTransaction { database in
                    try ["journal_mode", "synchronous"].map { try String.fetchOne(database, sql: "PRAGMA \($0)") ?? "" }
                }
            }
        }
    }
}

/// Where a store waits for its disk; what it does there is done to its end.
///
/// GRDB's own asynchronous functions end with the task that waits for them, and a commit that was ordered must not.
private actor StoreThread {
    private nonisolated let queue: BlockingQueue
    nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }

    init(_ name: String) { queue = BlockingQueue(name) }

    func run<Value: Sendable>(_ body: @Sendable () throws -> Value) throws -> Value { try body() }
}
