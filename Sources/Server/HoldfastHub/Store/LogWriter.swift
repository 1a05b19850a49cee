import MachineCore
import RoomCore
import RoomsStorage
import WebSocketRuntime

/// Writes a hub's log.
actor LogWriter {
    private nonisolated let queue = BlockingQueue("holdfast.log.writer")
    nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }

    let place: LogPlace
    let retention: RoomRetention
    let hook: StoreHook?
    private var lock: FileLock?
    /// nil between the closing of a broken connection and the next order.
    private var statements: LogStatements?
    private var isClosed = false
    /// The file that stores ``commits`` outside of the database and its journal.
    private var mark: NumberFile?
    /// The number of the last transaction.
    private var commits: Int64 = 0
    /// Derives the devices for named publications; replaced by the log's own when the log is opened.
    private(set) var names = PublicationNames.drawn()
    private(set) var proofs: ProofKey?

    nonisolated let gauge = LogGauge()
    private(set) var health = LogHealth.healthy { didSet { gauge.notify(health) } }
    var figures = LogFigures()
    /// The state of open rooms; ahead of the disk only while a transaction is open.
    var rooms: [RoomName: OpenRoom] = [:]
    /// Read markers that wait for the next transaction; if one is lost, the client sends it again.
    var waitingReads: [RoomName: [UserName: Int64]] = [:]
    var waitingReadCount = 0
    /// The pending work of retention, and the progress of its sweep.
    var retaining = RetentionSweep()
    /// The clock that decides what is forgotten, and its stored value.
    var logClock = LogClock()
    var storedClock = LogClock().record
    /// The number of written pages when the journal was last moved into the file.
    private var journalled = 0
    let clock = ContinuousClock()
    /// The maximum number of waiting read markers.
    static let mostWaitingReads = 4096

    init(place: LogPlace, retention: RoomRetention, hook: StoreHook?) { (self.place, self.retention, self.hook) = (place, retention, hook) }

    @discardableResult
    func open(drawsNewEpochs: Bool, checkedBytes: Int64) throws(RoomLogError) -> LogOpening {
        let opened = try place.open(drawsNewEpochs: drawsNewEpochs, checkedBytes: checkedBytes, hook: hook)
        do throws(SQLiteFailure) {
            let statements = try LogStatements(opened.connection)
            logClock = try statements.clock()
            storedClock = logClock.record
            names = PublicationNames(key: try LogSchema.namesKey(opened.connection))
            proofs = try LogSchema.proofKey(opened.connection)
            self.statements = statements
        } catch { throw RoomLogError(error, place.file) }
        (lock, mark, commits) = (opened.lock, opened.mark, opened.commits)
        var opening = opened.opening
        opening.time = logClock.time
        return opening
    }

    /// Carries out orders; all writes are in one transaction.
    func carryOut(_ orders: [(Int, LogOrder)]) -> [(Int, LogReply)] {
        gauge.begin()
        defer { rest() }
        let statements: LogStatements
        do throws(SQLiteFailure) { statements = try present() } catch {
            note(error)
            return negative(orders)
        }
        var batch = Batch(start: clock.now)
        var replies: [(Int, LogReply)] = []
        replies.reserveCapacity(orders.count)
        do throws(SQLiteFailure) {
            for (index, order) in orders {
                if let reply = try carryOut(order, in: &batch, statements) { replies.append((index, reply)) }
            }
            if waitingReadCount > Self.mostWaitingReads { try begin(&batch, statements) }
            try commit(batch, statements)
            // A failed read is retried with a new connection.
            if let doubt = batch.doubt {
                self.statements = nil
                // Damage concerns one room; other failures concern the disk.
                if !doubt.isDamage { note(doubt) }
            }
        } catch {
            fail(error)
            // The reads may depend on writes that failed, so all orders are refused and are asked for again.
            return negative(orders)
        }
        return replies
    }

    private func carryOut(_ order: LogOrder, in batch: inout Batch, _ statements: LogStatements) throws(SQLiteFailure) -> LogReply? {
        switch order {
        case .append(let name, let number, let records):
            return try append(records, to: name, in: &batch, statements)
                ? .appended(name, batch: number) : .notAppended(name, batch: number)
        case .renew(let name):
            guard let head = try renew(name, in: &batch, statements) else { return .notOpened(name) }
            return .opened(name, head)
        case .mark(let name, let user, let seq):
            let known = waitingReads[name]?[user]
            // The disk does not accept writes; clients send their read markers again.
            guard known != nil || waitingReadCount < Self.mostWaitingReads * 4 else { return nil }
            waitingReads[name, default: [:]][user] = max(known ?? 0, seq)
            if known == nil { waitingReadCount += 1 }
            return nil
        case .release(let name):
            // Changes of this transaction are written first.
            if batch.changed.remove(name) != nil { try write(name, statements) }
            rooms[name] = nil
            return nil
        case .open, .recall, .fetchAfter, .fetchBefore, .find:
            // A read failure of one room must not affect the others.
            do throws(SQLiteFailure) { return try read(order, statements) } catch {
                try doubt(error, &batch, statements)
                return order.reply(to: error)
            }
        }
    }

    /// Notes a failed read; throws if the failure has ended the transaction, because later writes would then be outside of it.
    ///
    /// Source: SQLite, "Test For Auto-Commit Mode".
    func doubt(_ error: SQLiteFailure, _ batch: inout Batch, _ statements: LogStatements) throws(SQLiteFailure) {
        if batch.isOpen, statements.connection.isIdle { throw error }
        batch.doubt = error
    }

    private func read(_ order: LogOrder, _ statements: LogStatements) throws(SQLiteFailure) -> LogReply? {
        switch order {
        case .open(let name): return .opened(name, try opened(name, statements))
        case .recall(let name, let id):
            // Devices of the open transaction are written to their table at its end.
            if let known = try room(name, statements)?.device(id, statements) { return .recalled(name, id, known.mark) }
            return .recalled(name, id, try statements.tables.owner(of: id))
        case .fetchAfter, .fetchBefore, .find, .renew, .append, .mark, .release:
            // The row of the room is also written at the end of the transaction.
            return try statements.tables.carryOut(order)
        }
    }

    /// Writes the remaining changes of a batch, commits, and waits for the disk.
    func commit(_ batch: Batch, _ statements: LogStatements) throws(SQLiteFailure) {
        guard batch.isOpen else { return }
        guard !statements.connection.isIdle else { throw .aborted("the transaction has ended by itself") }
        try finish(batch, statements)
        try statements.count(commit: commits + 1)
        hook?(.hubAppendsUncommitted)
        try statements.connection.run("COMMIT")
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

    /// Stores the number of the last transaction outside of the file; a failure here does not fail the commit.
    private func raiseMark() {
        guard let mark else { return }
        do throws(Disk.Failure) { try mark.write(commits) } catch { health = .failing(.failed("\(place.high): \(error.text)")) }
    }

    /// Rolls back, and discards the state of the transaction.
    func fail(_ error: SQLiteFailure) {
        figures.failures += 1
        // The state of a room that is not stored exists only here.
        rooms = rooms.filter { $0.value.row.number == 0 }
        note(error)
        // A read marker for a room with a damaged row would fail every later commit; clients send their markers again.
        if error.isDamage { (waitingReads, waitingReadCount) = ([:], 0) }
        guard let statements else { return }
        if !statements.connection.isIdle { try? statements.connection.run("ROLLBACK") }
        // After "disk full" the connection is still usable. After any other failure a new one is opened.
        if !error.isFull || !statements.connection.isIdle { self.statements = nil }
    }

    private func note(_ error: SQLiteFailure) {
        let reason: RoomLogError = isClosed ? .closed : RoomLogError(error, place.file)
        health = .failing(reason)
        figures.lastFailure = reason
    }

    /// Returns the connection; opens it again if it broke.
    func present() throws(SQLiteFailure) -> LogStatements {
        if let statements { return statements }
        guard !isClosed, lock != nil else { throw .closed }
        let opened = try LogStatements(place.connect())
        // A log that went back while the hub runs gets no more entries: the next start draws new epochs.
        let found = try opened.commits()
        guard found >= commits else { throw .damaged("the log ends with transaction \(found), but \(commits) were committed") }
        // The failed transaction may have been written after all.
        commits = found
        statements = opened
        return opened
    }

    private func negative(_ orders: [(Int, LogOrder)]) -> [(Int, LogReply)] {
        orders.compactMap { index, order in order.negativeReply.map { (index, $0) } }
    }

    /// Returns whether the journal has grown by ``LogPlace/journalPages`` since the last time this returned true.
    func hasFilledJournal() -> Bool {
        guard let pages = statements?.connection.pagesWritten else { return false }
        // A new connection counts from zero.
        if pages < journalled { journalled = 0 }
        guard pages - journalled >= LogPlace.journalPages else { return false }
        journalled = pages
        return true
    }

    /// Publishes figures and ends the operation.
    func rest() {
        figures.doubt = logClock.doubt
        gauge.notify(figures, openRooms: rooms.count)
        gauge.end()
    }

    func close() {
        guard !isClosed else { return }
        if waitingReadCount > 0 || logClock.record != storedClock, let statements = try? present() {
            var batch = Batch(start: clock.now)
            do throws(SQLiteFailure) {
                try begin(&batch, statements)
                try statements.write(logClock.record)
                try commit(batch, statements)
            } catch { fail(error) }
        }
        statements = nil
        if mark != nil { try? Disk.sync(place.high) }
        (mark, isClosed, lock) = (nil, true, nil)
        rooms.removeAll()
    }
}

/// The writer's health and figures, for readers that must not wait for the writer.
final class LogGauge: Sendable {
    /// A transaction that takes longer counts as failed, because it may never end.
    static let patience: Duration = .seconds(3)

    private struct State {
        var health = LogHealth.healthy
        var figures = LogFigures()
        /// When the current operation began; nil if there is none.
        var began: ContinuousClock.Instant?
    }
    private let state = LockedValue(State())

    func health(at now: ContinuousClock.Instant = .now) -> LogHealth {
        state.withLockedValue { state in
            guard state.health.isHealthy, let began = state.began else { return state.health }
            let taken = began.duration(to: now)
            guard taken > Self.patience else { return .healthy }
            return .failing(.failed("it has waited for the disk, or for a lock on the file, for \(taken.components.seconds) s"))
        }
    }

    var figures: LogFigures { state.withLockedValue({ $0.figures }) }

    func notify(_ health: LogHealth) { state.withLockedValue { $0.health = health } }
    func notify(_ figures: LogFigures, openRooms: Int) {
        state.withLockedValue {
            $0.figures = figures
            $0.figures.openRooms = openRooms
        }
    }
    func begin(at now: ContinuousClock.Instant = .now) { state.withLockedValue { $0.began = now } }
    func end() { state.withLockedValue { $0.began = nil } }
}
