import RoomCore
import RoomsStorage

/// The progress of retention.
struct RetentionSweep {
    /// Rooms that have more than they may.
    var due: Set<RoomName> = []
    /// The row number of the last examined room; nil between two sweeps.
    var room: Int64?
    /// The row number of the last examined device.
    var device: Int64?
    /// When the last sweep began, in milliseconds of the hub's running time.
    var begun: Int64?

    /// Rooms examined in one step.
    static let rooms = 64
    /// Devices examined in one step.
    static let devices = 512
    /// Entries deleted in one step.
    static let entries = 1000
    /// Pages returned to the disk in one step.
    static let pages = 256
    /// The maximum delay until others learn the log's time, in milliseconds: a minute.
    static let lag: Int64 = 60_000
    /// How long named publications of the server are remembered, in milliseconds.
    static let names: Int64 = 86_400_000
    /// The minimum time between the starts of two sweeps, in milliseconds.
    static let pause: Int64 = 60_000
    /// The maximum difference between the log's clock and its stored value, in milliseconds: ten minutes.
    static let clock: UInt64 = 600_000

    var isUnderWay: Bool { room != nil || device != nil }

    mutating func begin(ran: Int64) {
        if isUnderWay { return }
        if let begun, ran - begun < Self.pause { return }
        (room, device, begun) = (0, 0, ran)
    }
}

extension LogWriter {
    /// Returns whether a room has more entries or bytes than it may.
    func isPast(_ row: RoomRow) -> Bool { row.count > retention.count ?? .max || row.bytes > retention.bytes ?? .max }

    /// Does one step: pending writes, a part of retention, and a test write while the log is failing.
    func tend(now: Int64, ran: Int64) -> LogCare {
        gauge.begin()
        defer { rest() }
        logClock.read(calendar: now, ran: ran, holdsNothing: logClock.isYoung && holdsNothing)
        let before = retaining
        var care = LogCare()
        do throws(SQLiteFailure) {
            let statements = try present()
            var batch = Batch(start: clock.now)
            if waitingReadCount > 0 || !health.isHealthy { try begin(&batch, statements) }
            if logClock.record.isFar(from: storedClock, by: RetentionSweep.clock) { try begin(&batch, statements) }
            if !health.isHealthy { try statements.connection.run("PRAGMA user_version = \(LogPlace.version)") }
            retaining.begin(ran: ran)
            // While the clock is not trusted, nothing counts as too old.
            let time = logClock.doubt == nil ? logClock.time : 0
            try lookAtRooms(now: time, statements)
            let trimmed = try trimRooms(now: time, in: &batch, statements, care: &care)
            let forgotten = try forgetDevices(now: time, in: &batch, statements)
            if try statements.connection.number("PRAGMA freelist_count") ?? 0 > RetentionSweep.pages * 4 {
                try begin(&batch, statements)
                try statements.connection.run("PRAGMA incremental_vacuum(\(RetentionSweep.pages))")
            }
            if trimmed > 0 { hook?(.hubTrims) }
            if batch.isOpen { try statements.write(logClock.record) }
            try commit(batch, statements)
            if batch.isOpen { storedClock = logClock.record }
            if trimmed > 0 { hook?(.hubTrimmed) }
            figures.trimmed += trimmed
            figures.forgotten += forgotten
            (care.time, care.doubt) = (logClock.time, logClock.doubt)
            care.hasMore = !retaining.due.isEmpty || retaining.isUnderWay
            return care
        } catch {
            retaining = before
            fail(error)
            return LogCare()
        }
    }

    /// Whether nothing is stored, as far as this can be determined.
    private var holdsNothing: Bool { (try? present().holdsNothing()) ?? false }

    /// Examines some rooms for too many, too large or too old entries.
    private func lookAtRooms(now: Int64, _ statements: LogStatements) throws(SQLiteFailure) {
        // Rooms that are found wait for their turn; at most a few steps' worth of them.
        guard let last = retaining.room, retaining.due.count < RetentionSweep.rooms * 4 else { return }
        let found = try statements.rooms(after: last, limit: RetentionSweep.rooms)
        for (name, row) in found {
            if isPast(row) { retaining.due.insert(name) } else if try isTooOld(row, now: now, statements) { retaining.due.insert(name) }
        }
        retaining.room = found.count < RetentionSweep.rooms ? nil : found.last?.1.number
    }

    private func isTooOld(_ row: RoomRow, now: Int64, _ statements: LogStatements) throws(SQLiteFailure) -> Bool {
        guard let age = retention.age, row.count > 0 else { return false }
        var oldest: Int64?
        try statements.oldest(row, limit: 1) { _, at in
            oldest = at
            return false
        }
        return oldest.map { $0 < now - age } ?? false
    }

    private func trimRooms(
        now: Int64, in batch: inout Batch, _ statements: LogStatements, care: inout LogCare
    ) throws(SQLiteFailure) -> Int {
        var trimmed = 0
        while trimmed < RetentionSweep.entries, let name = retaining.due.first {
            guard var room = try room(name, statements) else {
                retaining.due.remove(name)
                continue
            }
            let left = RetentionSweep.entries - trimmed
            let taken = try trim(&room.row, now: now, atMost: left, in: &batch, statements)
            if taken < left { retaining.due.remove(name) }
            guard taken > 0 else { continue }
            trimmed += taken
            guard rooms[name] != nil else { continue }
            rooms[name] = room
            care.replies += [
                .trimmed(name, base: room.row.head.base, below: room.row.head.below), .weighed(name, bytes: room.row.bytes),
            ]
        }
        return trimmed
    }

    /// Deletes the oldest entries of a room while there are too many, they have too many bytes, or they are too old.
    private func trim(
        _ row: inout RoomRow, now: Int64, atMost limit: Int, in batch: inout Batch, _ statements: LogStatements
    ) throws(SQLiteFailure) -> Int {
        var (taken, rest) = (0, row)
        let retention = retention
        try statements.oldest(row, limit: limit) { size, at in
            let isPast = rest.count > retention.count ?? .max || rest.bytes > retention.bytes ?? .max
            guard isPast || retention.age.map({ at < now - $0 }) ?? false else { return false }
            rest.head.base += 1
            rest.bytes -= Int64(size)
            taken += 1
            return true
        }
        guard taken > 0 else { return 0 }
        try begin(&batch, statements)
        // A cursor at this position can be resumed, and its proof identifies the entry there.
        rest.head.below = try statements.entry(rest.head.base - 1, of: row)?.stamp
        try statements.delete(row, below: rest.head.base)
        try statements.trim(rest)
        row = rest
        return taken
    }

    /// Examines some devices, and forgets those that have been silent for longer than their publications are accepted.
    private func forgetDevices(now: Int64, in batch: inout Batch, _ statements: LogStatements) throws(SQLiteFailure) -> Int {
        guard let last = retaining.device else { return 0 }
        // A publication at the end of that window may come from a clock that is ahead, within the accepted limit. Also, the hub learns
        // the log's time a little later.
        let window = min(max(retention.devices, RoomsLimits.window), RoomsLimits.number)
        let bound = now - window - RoomsLimits.future - RetentionSweep.lag
        let found = try statements.devices(after: last, limit: RetentionSweep.devices, names: names.prefix)
        retaining.device = found.count < RetentionSweep.devices ? nil : found.last?.number
        let silent = found.filter { $0.at < ($0.isName ? now - RetentionSweep.names : bound) }.map(\.number)
        guard !silent.isEmpty else { return 0 }
        try begin(&batch, statements)
        logClock.hasForgotten()
        for number in silent { try statements.forget(device: number) }
        // Device marks that are newer than their rows were written by earlier transactions.
        for name in rooms.keys { rooms[name]?.devices.removeAll() }
        return silent.count
    }
}
