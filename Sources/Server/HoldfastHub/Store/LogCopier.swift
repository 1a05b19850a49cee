import Foundation
import RoomCore
import RoomsStorage
import WebSocketRuntime

/// Copies a hub's log while the log is in use.
actor LogCopier {
    private nonisolated let queue = BlockingQueue("holdfast.log.copier")
    nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }

    private let place: LogPlace
    private let hook: StoreHook?
    private var isClosed = false

    init(place: LogPlace, hook: StoreHook?) { (self.place, self.hook) = (place, hook) }

    func backup(to path: String) throws(RoomLogError) {
        guard !isClosed else { throw .closed }
        guard !FileManager.default.fileExists(atPath: path) else { throw .exists(path) }
        let new = path + ".partial"
        try? FileManager.default.removeItem(atPath: new)
        // SQLite fills the file in place and keeps its permissions.
        try LogPlace.makeFile(new)
        do throws(SQLiteFailure) {
            // A read transaction: it sees one moment, and the writer is not blocked.
            try place.connect().prepare("VACUUM INTO ?").run(new)
            hook?(.hubCopies)
            try SQLiteConnection(new).run("PRAGMA synchronous = FULL; PRAGMA application_id = \(LogPlace.copy)")
            hook?(.hubCopiesMarked)
        } catch {
            try? FileManager.default.removeItem(atPath: new)
            throw RoomLogError(error, new)
        }
        // Of two simultaneous backups with one name, one fails.
        guard !FileManager.default.fileExists(atPath: path) else { throw .exists(path) }
        try place.settle(new, as: path)
    }

    /// Moves the journal into the file, except for parts that readers need; the writer does not wait for it.
    func emptyJournal() {
        guard !isClosed else { return }
        // A failure is harmless and retried: the data is as safe in the journal.
        try? place.connect().run("PRAGMA wal_checkpoint(PASSIVE)")
        // After a power cut, the high mark is then as recent as possible.
        try? Disk.sync(place.high)
    }

    func close() { isClosed = true }
}
