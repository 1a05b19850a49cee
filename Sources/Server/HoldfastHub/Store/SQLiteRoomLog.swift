import Foundation
package import RoomCore
package import RoomsStorage
import WebSocketRuntime

/// The log of a hub in an SQLite file.
///
/// One connection writes, in transactions that wait for the disk; another connection reads at the same time. Both have their own threads.
/// Publications are acknowledged after their transaction is on disk. Replies and ``health`` report a failure, such as a full or broken
/// disk, and the next order tries again.
package final class SQLiteRoomLog: RoomLog {
    private let place: LogPlace
    private let writer: LogWriter
    private let reader: LogReader
    private let copier: LogCopier
    /// The state in which the log was opened.
    package let opening: LogOpening
    /// Derives the devices for named publications; they stay the same for the lifetime of the log.
    let names: PublicationNames
    /// The key for proofs of cursors, which stays the same for the lifetime of the log; nil if it could not be stored.
    package let proofs: ProofKey?
    /// One sentence for each part of the directory that was open to other users of the machine.
    package let privacy: [String]

    /// Opens the log in a directory, or creates one there; a damaged or too new log is left unchanged.
    ///
    /// If the log may lack entries that a hub has committed to it, all rooms get new epochs: ``opening`` contains the reasons.
    ///
    /// - Parameters:
    ///   - directory: The directory; created if it does not exist. No other hub may have it open.
    ///   - retention: How much of a room is kept.
    ///   - drawsNewEpochs: Whether all rooms get new epochs, as needed after restoring a backup that ``backup(to:)`` did not make: every
    ///     client then learns that the log may have gone back.
    ///   - checkedBytes: A file up to this size is checked for damage.
    ///   - hook: Called at every ``StorePoint``.
    /// - Throws: A ``RoomLogError``.
    package init(
        directory: String, retention: RoomRetention = RoomRetention(), drawsNewEpochs: Bool = false, checkedBytes: Int64 = 256 << 20,
        hook: StoreHook? = nil
    ) async throws(RoomLogError) {
        place = LogPlace(directory: directory)
        privacy = try place.prepare()
        writer = LogWriter(place: place, retention: retention, hook: hook)
        reader = LogReader(place: place)
        copier = LogCopier(place: place, hook: hook)
        opening = try await writer.open(drawsNewEpochs: drawsNewEpochs, checkedBytes: checkedBytes)
        (names, proofs) = await (writer.names, writer.proofs)
    }

    package func carryOut(_ orders: [LogOrder]) async -> [LogReply] {
        // Rooms that this call writes are also read by the writer, to keep the order; the reader handles the rest at the same time.
        var written: Set<RoomName> = []
        for case .some(let room) in orders.lazy.map(\.writtenRoom) { written.insert(room) }
        if written.isEmpty, orders.allSatisfy(\.isRead) { return await reader.carryOut(orders.enumerated().map { ($0, $1) }).map(\.1) }
        var (reads, writes): ([(Int, LogOrder)], [(Int, LogOrder)]) = ([], [])
        for (index, order) in orders.enumerated() {
            if order.isRead, !written.contains(order.room) { reads.append((index, order)) } else { writes.append((index, order)) }
        }
        if reads.isEmpty { return await writer.carryOut(writes).map(\.1) }
        async let read = reader.carryOut(reads)
        let wrote = await writer.carryOut(writes)
        return (await read + wrote).sorted { $0.0 < $1.0 }.map(\.1)
    }

    package func tend(now: Int64, ran: Int64) async -> LogCare {
        if await writer.hasFilledJournal() { await copier.emptyJournal() }
        return await writer.tend(now: now, ran: ran)
    }

    /// Does not wait for a transaction that hangs.
    package var health: LogHealth { get async { writer.gauge.health() } }

    package var figures: LogFigures {
        get async {
            var figures = writer.gauge.figures
            (figures.fileBytes, figures.journalBytes) = place.sizes
            return figures
        }
    }

    /// Returns how many bytes may still be written; below 0 if there are too many already, nil if the system does not report it.
    package func space(within quotas: HubQuotas) -> Int64? {
        let left = quotas.total.map { $0 - place.sizes.file - place.sizes.journal }
        let free = Disk.free(at: place.directory).map { $0 - quotas.free }
        return [left, free].compactMap(\.self).min()
    }

    /// Copies the current log into one file, while it is in use; the copy gets its name only when it is complete.
    ///
    /// To restore it, put it as `rooms.sqlite` into an empty directory. The hub that opens it draws new epochs for all rooms, because
    /// later publications are missing there and clients have to know.
    ///
    /// - Parameter path: The path of the copy; no file may exist there.
    /// - Throws: A ``RoomLogError``.
    package func backup(to path: String) async throws(RoomLogError) { try await copier.backup(to: path) }

    /// Returns the last entries of a room below a sequence number, in order, and the state of its log.
    ///
    /// - Parameters:
    ///   - limit: The maximum number of entries.
    ///   - bytes: The maximum size of the entries in bytes; at least one entry is returned.
    /// - Throws: A ``RoomLogError``: ``RoomLogError/noRoom(_:)`` if nothing was written in the room.
    package func history(
        _ room: RoomName, before seq: Int64, limit: Int64, bytes: Int64
    ) async throws(RoomLogError) -> (head: LogHead, entries: [Entry]) {
        try await reader.page(.fetchBefore(0, room, seq: seq, limit: limit, bytes: bytes))
    }

    /// Reads a whole room as it is now, while it is in use.
    ///
    /// - Throws: A ``RoomLogError``: ``RoomLogError/noRoom(_:)`` if nothing was written in the room.
    package func pages(of room: RoomName) async throws(RoomLogError) -> RoomPages { try await RoomPages(room, reader) }

    /// Writes deferred data, and releases the directory; later calls are refused.
    package func close() async {
        await copier.close()
        await reader.close()
        await writer.close()
    }
}

extension LogOrder {
    /// The room of the order.
    var room: RoomName {
        switch self {
        case .open(let room), .renew(let room), .recall(let room, _), .append(let room, _, _), .fetchAfter(_, let room, _, _, _),
            .fetchBefore(_, let room, _, _, _), .find(_, let room, _, _), .mark(let room, _, _), .release(let room):
            room
        }
    }

    /// The room that the order may change or create.
    fileprivate var writtenRoom: RoomName? {
        switch self {
        case .append(let room, _, _), .open(let room), .renew(let room): room
        default: nil
        }
    }

    /// Whether the order only reads data on disk.
    var isRead: Bool {
        switch self {
        case .recall, .fetchAfter, .fetchBefore, .find: true
        default: false
        }
    }

    /// The reply if the order cannot be carried out.
    var negativeReply: LogReply? {
        switch self {
        case .open(let room), .renew(let room): .notOpened(room)
        case .recall(let room, let device): .notRecalled(room, device)
        case .append(let room, let batch, _): .notAppended(room, batch: batch)
        case .fetchAfter(let number, _, _, _, _), .fetchBefore(let number, _, _, _, _), .find(let number, _, _, _): .notFetched(number)
        case .mark, .release: nil
        }
    }

    /// Returns the reply if the order fails with this error.
    func reply(to failure: SQLiteFailure) -> LogReply? {
        if case .notFetched(let number, _)? = negativeReply { .notFetched(number, isDamaged: failure.isDamage) } else { negativeReply }
    }
}

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
