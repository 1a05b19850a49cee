package import RoomCore
package import RoomsStorage
import WebSocketRuntime

/// The log of a hub in a file of SQLite.
///
/// One connection writes, in transactions that wait for the disk; another reads, beside it. Both have threads of their own. What a
/// transaction holds is acked after it, or nobody knows it. A failure (the disk is full or broken) is told by replies and by ``health``,
/// and the next order tries again.
package final class SQLiteRoomLog: RoomLog {
    private let place: LogPlace
    private let writer: LogWriter
    private let reader: LogReader
    private let copier: LogCopier
    /// How the log was found.
    package let opening: LogOpening
    /// Under which devices a hub stores what programs publish under names of their own; the same as long as the log is there.
    let names: PublicationNames
    /// Proves cursors; the same as long as the log is there, nil if there is none and the disk takes none.
    package let proofs: ProofKey?
    /// What of the directory was open to other users of the machine, a sentence for each.
    package let privacy: [String]

    /// Opens the log in a directory, or makes one there; what is damaged or too new is left as it is.
    ///
    /// If it is not certain that the log holds all that a hub has ever committed to it, all rooms get new epochs: ``opening`` says why.
    ///
    /// - Parameters:
    ///   - directory: Made if there is none. No other hub may have it open.
    ///   - retention: How much of a room is kept.
    ///   - drawsNewEpochs: Whether all rooms get new epochs, as after a backup that was not made by ``backup(to:)``: every client is then
    ///     told that the log may have been rewound.
    ///   - checkedBytes: A file up to this size is read through, to find damage.
    ///   - hook: Called at every ``StorePoint`` that is passed.
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
        // What is written in this call is also read by the writer, in its place in the order; the rest is read beside it.
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

    /// It does not wait for a transaction that does not end.
    package var health: LogHealth { get async { writer.gauge.health() } }

    package var figures: LogFigures {
        get async {
            var figures = writer.gauge.figures
            (figures.fileBytes, figures.journalBytes) = place.sizes
            return figures
        }
    }

    /// How many bytes may yet be written; below 0 where there are too many already, nil if the system does not tell.
    package func space(within quotas: HubQuotas) -> Int64? {
        let left = quotas.total.map { $0 - place.sizes.file - place.sizes.journal }
        let free = Disk.free(at: place.directory).map { $0 - quotas.free }
        return [left, free].compactMap(\.self).min()
    }

    /// Copies the log as it is now into one file, while it is used; the copy is made whole before it has its name.
    ///
    /// It is used by giving it the name `rooms.sqlite` in an empty directory. The hub that opens it draws new epochs for all rooms, for
    /// what was published since is lost to it, and every client has to know.
    ///
    /// - Parameter path: Where there is no file yet.
    /// - Throws: A ``RoomLogError``.
    package func backup(to path: String) async throws(RoomLogError) { try await copier.backup(to: path) }

    /// The last entries of a room below a number, in order, and where its log stands.
    ///
    /// - Parameters:
    ///   - limit: So many at most.
    ///   - bytes: As many of them as so many bytes hold, at least one.
    /// - Throws: A ``RoomLogError``: ``RoomLogError/noRoom(_:)`` if nobody has written in it.
    package func history(
        _ room: RoomName, before seq: Int64, limit: Int64, bytes: Int64
    ) async throws(RoomLogError) -> (head: LogHead, entries: [Entry]) {
        try await reader.page(.fetchBefore(0, room, seq: seq, limit: limit, bytes: bytes))
    }

    /// Reads a whole room as it is now, beside whoever uses it.
    ///
    /// - Throws: A ``RoomLogError``: ``RoomLogError/noRoom(_:)`` if nobody has written in it.
    package func pages(of room: RoomName) async throws(RoomLogError) -> RoomPages { try await RoomPages(room, reader) }

    /// Writes what could wait, and lets go of the directory; what comes after is refused.
    package func close() async {
        await copier.close()
        await reader.close()
        await writer.close()
    }
}

extension LogOrder {
    /// The room it speaks of.
    var room: RoomName {
        switch self {
        case .open(let room), .renew(let room), .recall(let room, _), .append(let room, _, _), .fetchAfter(_, let room, _, _, _),
            .fetchBefore(_, let room, _, _, _), .find(_, let room, _, _), .mark(let room, _, _), .release(let room):
            room
        }
    }

    /// The room that it may change, or that may have to be made.
    fileprivate var writtenRoom: RoomName? {
        switch self {
        case .append(let room, _, _), .open(let room), .renew(let room): room
        default: nil
        }
    }

    /// Whether it only reads what is on disk.
    var isRead: Bool {
        switch self {
        case .recall, .fetchAfter, .fetchBefore, .find: true
        default: false
        }
    }

    /// The answer if it cannot be carried out.
    var negativeReply: LogReply? {
        switch self {
        case .open(let room), .renew(let room): .notOpened(room)
        case .recall(let room, let device): .notRecalled(room, device)
        case .append(let room, let batch, _): .notAppended(room, batch: batch)
        case .fetchAfter(let number, _, _, _, _), .fetchBefore(let number, _, _, _, _), .find(let number, _, _, _): .notFetched(number)
        case .mark, .release: nil
        }
    }

    /// The answer if it cannot be carried out for this reason.
    func reply(to failure: SQLiteFailure) -> LogReply? {
        if case .notFetched(let number, _)? = negativeReply { .notFetched(number, isDamaged: failure.isDamage) } else { negativeReply }
    }
}
