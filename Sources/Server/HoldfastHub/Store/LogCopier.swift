import Foundation
import RoomCore
import RoomsStorage
import WebSocketRuntime

/// Copies a hub's log while it is used.
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
        // It is filled where it lies, with the rights that it has.
        try LogPlace.makeFile(new)
        do throws(SQLiteFailure) {
            // A transaction that reads: it sees one moment, and the writer goes on.
            try place.connect().prepare("VACUUM INTO ?").run(new)
            hook?(.hubCopies)
            try SQLiteConnection(new).run("PRAGMA synchronous = FULL; PRAGMA application_id = \(LogPlace.copy)")
            hook?(.hubCopiesMarked)
        } catch {
            try? FileManager.default.removeItem(atPath: new)
            throw RoomLogError(error, new)
        }
        // Of two backups that are made at once under one name, one fails.
        guard !FileManager.default.fileExists(atPath: path) else { throw .exists(path) }
        try place.settle(new, as: path)
    }

    /// Brings what is in the journal into the file, as far as nobody reads it; the writer does not wait for it.
    func emptyJournal() {
        guard !isClosed else { return }
        // If it fails it is tried again: what is in the journal is as safe there.
        try? place.connect().run("PRAGMA wal_checkpoint(PASSIVE)")
        // As little as possible is then unknown outside of the file after a power cut.
        try? Disk.sync(place.high)
    }

    func close() { isClosed = true }
}
