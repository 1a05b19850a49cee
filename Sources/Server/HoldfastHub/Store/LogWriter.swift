import GRDBSQLite
import RoomCore
import RoomsStorage

/// The one who writes a hub's log.
actor LogWriter {
    private nonisolated let queue = BlockingQueue("holdfast.log.writer")
    nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }

    let place: LogPlace
    let retention: RoomRetention
    let hook: StoreHook?
    private var lock: FileLock?
    /// Nothing while a broken connection was closed, and the next order has not come.
    private var ledger: LogLedger?
    private var isClosed = false

    private(set) var health = LogHealth.healthy
    var figures = LogFigures()
    /// What is known of rooms that are open; nothing of it is ahead of the disk, or the transaction is still open.
    var rooms: [RoomName: OpenRoom] = [:]
    /// Read markers that wait for the next transaction: whoever sent one sends it again if it is lost.
    var waitingReads: [RoomName: [UserName: Int64]] = [:]
    var waitingReadCount = 0
    /// What of retention is to be done, and how far the look at all rooms has come.
    var retaining = RetentionSweep()
    let clock = ContinuousClock()
    /// Markers that wait at most.
    static let mostWaitingReads = 4096

    init(place: LogPlace, retention: RoomRetention, hook: StoreHook?) { (self.place, self.retention, self.hook) = (place, retention, hook) }

    func open(drawsNewEpochs: Bool, checkedBytes: Int64) throws(RoomLogError) {
        let (lock, connection) = try place.open(drawsNewEpochs: drawsNewEpochs, checkedBytes: checkedBytes, hook: hook)
        do throws(SQLiteFailure) { ledger = try LogLedger(connection) } catch { throw error.roomLogError(path: place.file) }
        self.lock = lock
    }

    /// Carries out orders, those that write in one transaction.
    func carryOut(_ orders: [(Int, LogOrder)]) -> [(Int, LogReply)] {
        let ledger: LogLedger
        do throws(SQLiteFailure) { ledger = try present() } catch {
            note(error)
            return negative(orders)
        }
        var batch = Batch(start: clock.now)
        var replies: [(Int, LogReply)] = []
        replies.reserveCapacity(orders.count)
        do throws(SQLiteFailure) {
            for (index, order) in orders {
                if let reply = try carryOut(order, in: &batch, ledger) { replies.append((index, reply)) }
            }
            if waitingReadCount > Self.mostWaitingReads { try begin(&batch, ledger) }
            try commit(batch, ledger)
        } catch {
            fail(error)
            // What was read on the way may have been of what is not there: all is refused, and is asked for again.
            return negative(orders)
        }
        return replies
    }

    private func carryOut(_ order: LogOrder, in batch: inout Batch, _ ledger: LogLedger) throws(SQLiteFailure) -> LogReply? {
        switch order {
        case .open(let name): return .opened(name, try opened(name, in: &batch, ledger))
        case .append(let name, let number, let records):
            return try append(records, to: name, in: &batch, ledger) ? .appended(name, batch: number) : .notAppended(name, batch: number)
        case .mark(let name, let user, let seq):
            let known = waitingReads[name]?[user]
            waitingReads[name, default: [:]][user] = max(known ?? 0, seq)
            if known == nil { waitingReadCount += 1 }
            return nil
        case .release(let name):
            // What the transaction has changed of it is written first.
            if batch.changed.remove(name) != nil { try write(name, ledger) }
            rooms[name] = nil
            return nil
        case .recall(let name, let id):
            // A transaction's devices reach their table at its end.
            guard let room = try room(name, ledger) else { return .recalled(name, id, nil) }
            return .recalled(name, id, try room.device(id, ledger)?.mark)
        case .fetchAfter, .fetchBefore, .find:
            // The row of the room, too, is written at the transaction's end.
            return try ledger.tables.carryOut(order)
        }
    }

    /// Writes what a batch has changed but for its entries, and waits for the disk.
    func commit(_ batch: Batch, _ ledger: LogLedger) throws(SQLiteFailure) {
        guard batch.isOpen else { return }
        try finish(batch, ledger)
        hook?(.hubAppendsUncommitted)
        try ledger.connection.run("COMMIT")
        let taken = clock.now - batch.start
        hook?(.hubAppended)
        health = .healthy
        waitingReads.removeAll(keepingCapacity: true)
        waitingReadCount = 0
        figures.commits += 1
        figures.records += batch.records
        figures.commitTimes.add(microseconds: taken.components.seconds * 1_000_000 + taken.components.attoseconds / 1_000_000_000_000)
    }

    /// Rolls back, and knows nothing of what was in the transaction any more.
    func fail(_ error: SQLiteFailure) {
        figures.failures += 1
        rooms.removeAll()
        note(error)
        guard let ledger else { return }
        if !ledger.connection.isIdle { try? ledger.connection.run("ROLLBACK") }
        // A full disk leaves the connection as good as it was. After anything else nobody knows: another one is opened.
        if error.code & 0xFF != SQLITE_FULL || !ledger.connection.isIdle { self.ledger = nil }
    }

    private func note(_ error: SQLiteFailure) { health = .failing(isClosed ? .closed : error.roomLogError(path: place.file)) }

    /// The connection, which is opened again if it broke.
    func present() throws(SQLiteFailure) -> LogLedger {
        if let ledger { return ledger }
        guard !isClosed, lock != nil else { throw SQLiteFailure(code: SQLITE_MISUSE, message: "closed") }
        let opened = try LogLedger(place.connect())
        ledger = opened
        return opened
    }

    private func negative(_ orders: [(Int, LogOrder)]) -> [(Int, LogReply)] {
        orders.compactMap { index, order in order.negativeReply.map { (index, $0) } }
    }

    var presentFigures: LogFigures {
        var figures = figures
        figures.openRooms = rooms.count
        (figures.fileBytes, figures.journalBytes) = place.sizes
        return figures
    }

    func close() {
        guard !isClosed else { return }
        if waitingReadCount > 0, let ledger = try? present() {
            var batch = Batch(start: clock.now)
            do throws(SQLiteFailure) {
                try begin(&batch, ledger)
                try commit(batch, ledger)
            } catch { fail(error) }
        }
        (ledger, isClosed, lock) = (nil, true, nil)
        rooms.removeAll()
    }
}
