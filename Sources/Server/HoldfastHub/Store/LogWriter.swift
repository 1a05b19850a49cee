import MachineCore
import RoomCore
import RoomsStorage
import WebSocketRuntime

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
    /// Holds ``commits`` outside of the file and its journal.
    private var mark: NumberFile?
    /// The number of the last transaction.
    private var commits: Int64 = 0
    /// Under which devices the publications of programs are stored; before the log is open nobody's.
    private(set) var names = PublicationNames.drawn()
    private(set) var proofs: ProofKey?

    nonisolated let gauge = LogGauge()
    private(set) var health = LogHealth.healthy { didSet { gauge.tell(health) } }
    var figures = LogFigures()
    /// What is known of rooms that are open; nothing of it is ahead of the disk, or the transaction is still open.
    var rooms: [RoomName: OpenRoom] = [:]
    /// Read markers that wait for the next transaction: whoever sent one sends it again if it is lost.
    var waitingReads: [RoomName: [UserName: Int64]] = [:]
    var waitingReadCount = 0
    /// What of retention is to be done, and how far the look at all rooms has come.
    var retaining = RetentionSweep()
    /// By which time it forgets, and what of that is on disk.
    var logClock = LogClock()
    var storedClock = LogClock().record
    /// The pages that were written when the journal was brought into the file.
    private var journalled = 0
    let clock = ContinuousClock()
    /// Markers that wait at most.
    static let mostWaitingReads = 4096

    init(place: LogPlace, retention: RoomRetention, hook: StoreHook?) { (self.place, self.retention, self.hook) = (place, retention, hook) }

    @discardableResult
    func open(drawsNewEpochs: Bool, checkedBytes: Int64) throws(RoomLogError) -> LogOpening {
        let opened = try place.open(drawsNewEpochs: drawsNewEpochs, checkedBytes: checkedBytes, hook: hook)
        do throws(SQLiteFailure) {
            let ledger = try LogLedger(opened.connection)
            logClock = try ledger.clock()
            storedClock = logClock.record
            names = PublicationNames(key: try LogSchema.namesKey(opened.connection))
            proofs = try LogSchema.proofKey(opened.connection)
            self.ledger = ledger
        } catch { throw RoomLogError(error, place.file) }
        (lock, mark, commits) = (opened.lock, opened.mark, opened.commits)
        var opening = opened.opening
        opening.time = logClock.time
        return opening
    }

    /// Carries out orders, those that write in one transaction.
    func carryOut(_ orders: [(Int, LogOrder)]) -> [(Int, LogReply)] {
        gauge.begin()
        defer { rest() }
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
            // What could not be read is tried again with another connection.
            if let doubt = batch.doubt {
                self.ledger = nil
                // Damage is one room's matter, anything else the disk's.
                if !doubt.isDamage { note(doubt) }
            }
        } catch {
            fail(error)
            // What was read on the way may have been of what is not there: all is refused, and is asked for again.
            return negative(orders)
        }
        return replies
    }

    private func carryOut(_ order: LogOrder, in batch: inout Batch, _ ledger: LogLedger) throws(SQLiteFailure) -> LogReply? {
        switch order {
        case .append(let name, let number, let records):
            return try append(records, to: name, in: &batch, ledger) ? .appended(name, batch: number) : .notAppended(name, batch: number)
        case .renew(let name):
            guard let head = try renew(name, in: &batch, ledger) else { return .notOpened(name) }
            return .opened(name, head)
        case .mark(let name, let user, let seq):
            let known = waitingReads[name]?[user]
            // The disk takes nothing: who has read it will say so again.
            guard known != nil || waitingReadCount < Self.mostWaitingReads * 4 else { return nil }
            waitingReads[name, default: [:]][user] = max(known ?? 0, seq)
            if known == nil { waitingReadCount += 1 }
            return nil
        case .release(let name):
            // What the transaction has changed of it is written first.
            if batch.changed.remove(name) != nil { try write(name, ledger) }
            rooms[name] = nil
            return nil
        case .open, .recall, .fetchAfter, .fetchBefore, .find:
            // What cannot be read of one room is no matter of the others.
            do throws(SQLiteFailure) { return try read(order, ledger) } catch {
                try doubt(error, &batch, ledger)
                return order.reply(to: error)
            }
        }
    }

    /// Notes that something could not be read; throws if that has ended the transaction, for then nothing may be written after it.
    ///
    /// Source: SQLite, "Test For Auto-Commit Mode".
    func doubt(_ error: SQLiteFailure, _ batch: inout Batch, _ ledger: LogLedger) throws(SQLiteFailure) {
        if batch.isOpen, ledger.connection.isIdle { throw error }
        batch.doubt = error
    }

    private func read(_ order: LogOrder, _ ledger: LogLedger) throws(SQLiteFailure) -> LogReply? {
        switch order {
        case .open(let name): return .opened(name, try opened(name, ledger))
        case .recall(let name, let id):
            // A transaction's devices reach their table at its end.
            if let known = try room(name, ledger)?.device(id, ledger) { return .recalled(name, id, known.mark) }
            return .recalled(name, id, try ledger.tables.owner(of: id))
        case .fetchAfter, .fetchBefore, .find, .renew, .append, .mark, .release:
            // The row of the room, too, is written at the transaction's end.
            return try ledger.tables.carryOut(order)
        }
    }

    /// Writes what a batch has changed but for its entries, and waits for the disk.
    func commit(_ batch: Batch, _ ledger: LogLedger) throws(SQLiteFailure) {
        guard batch.isOpen else { return }
        guard !ledger.connection.isIdle else { throw .aborted("the transaction has ended by itself") }
        try finish(batch, ledger)
        try ledger.count(commit: commits + 1)
        hook?(.hubAppendsUncommitted)
        try ledger.connection.run("COMMIT")
        commits += 1
        let taken = clock.now - batch.start
        hook?(.hubAppended)
        health = .healthy
        raiseMark()
        waitingReads.removeAll(keepingCapacity: true)
        waitingReadCount = 0
        figures.commits += 1
        figures.records += batch.records
        figures.commitTimes.add(microseconds: taken.wholeMicroseconds)
    }

    /// Writes outside of the file how far the log has come: what is committed is told all the same, if that cannot be written.
    private func raiseMark() {
        guard let mark else { return }
        do throws(Disk.Failure) { try mark.write(commits) } catch { health = .failing(.failed("\(place.high): \(error.text)")) }
    }

    /// Rolls back, and knows nothing of what was in the transaction any more.
    func fail(_ error: SQLiteFailure) {
        figures.failures += 1
        // Of a room that is not stored there is nothing else to know.
        rooms = rooms.filter { $0.value.row.number == 0 }
        note(error)
        // Markers of a room whose row is damaged would fail every commit to come; who has read says so again.
        if error.isDamage { (waitingReads, waitingReadCount) = ([:], 0) }
        guard let ledger else { return }
        if !ledger.connection.isIdle { try? ledger.connection.run("ROLLBACK") }
        // A full disk leaves the connection as good as it was. After anything else nobody knows: another one is opened.
        if !error.isFull || !ledger.connection.isIdle { self.ledger = nil }
    }

    private func note(_ error: SQLiteFailure) {
        let reason: RoomLogError = isClosed ? .closed : RoomLogError(error, place.file)
        health = .failing(reason)
        figures.lastFailure = reason
    }

    /// The connection, which is opened again if it broke.
    func present() throws(SQLiteFailure) -> LogLedger {
        if let ledger { return ledger }
        guard !isClosed, lock != nil else { throw .closed }
        let opened = try LogLedger(place.connect())
        // What went back under a hub that runs gets no more numbers: its next start draws new epochs.
        let found = try opened.commits()
        guard found >= commits else { throw .damaged("the log ends with its transaction \(found), and \(commits) were committed") }
        // The one that failed may have been written all the same.
        commits = found
        ledger = opened
        return opened
    }

    private func negative(_ orders: [(Int, LogOrder)]) -> [(Int, LogReply)] {
        orders.compactMap { index, order in order.negativeReply.map { (index, $0) } }
    }

    /// Whether the journal has got long since this last said so.
    func hasFilledJournal() -> Bool {
        guard let pages = ledger?.connection.pagesWritten else { return false }
        // Another connection counts anew.
        if pages < journalled { journalled = 0 }
        guard pages - journalled >= LogPlace.journalPages else { return false }
        journalled = pages
        return true
    }

    /// Tells what there is to tell, at the end of what it does.
    func rest() {
        figures.doubt = logClock.doubt
        gauge.tell(figures, openRooms: rooms.count)
        gauge.end()
    }

    func close() {
        guard !isClosed else { return }
        if waitingReadCount > 0 || logClock.record != storedClock, let ledger = try? present() {
            var batch = Batch(start: clock.now)
            do throws(SQLiteFailure) {
                try begin(&batch, ledger)
                try ledger.write(logClock.record)
                try commit(batch, ledger)
            } catch { fail(error) }
        }
        ledger = nil
        if mark != nil { try? Disk.sync(place.high) }
        (mark, isClosed, lock) = (nil, true, nil)
        rooms.removeAll()
    }
}
