import RoomCore
import RoomsStorage

/// How far retention has come.
struct RetentionSweep {
    /// Rooms that have more than they may.
    var due: Set<RoomName> = []
    /// The room that was looked at last, by its number; nil between two looks at all.
    var room: Int64?
    /// The device that was looked at last.
    var device: Int64?
    /// When the last look at all began, in milliseconds that the hub had run.
    var begun: Int64?

    /// Rooms to look at in a step.
    static let rooms = 64
    /// Devices to look at in a step.
    static let devices = 512
    /// Entries that are taken away in a step.
    static let entries = 1000
    /// Pages that are given back to the disk in a step.
    static let pages = 256
    /// How late the log's time may be heard of, in milliseconds: a minute.
    static let lag: Int64 = 60_000
    /// For how long it is known that the server itself has published under a name, in milliseconds.
    static let names: Int64 = 86_400_000
    /// How long to wait between two looks at all, in milliseconds.
    static let pause: Int64 = 60_000
    /// How far the log's clock may be from what of it is on disk, in milliseconds: ten minutes.
    static let clock: UInt64 = 600_000

    var isUnderWay: Bool { room != nil || device != nil }

    mutating func begin(ran: Int64) {
        if isUnderWay { return }
        if let begun, ran - begun < Self.pause { return }
        (room, device, begun) = (0, 0, ran)
    }
}

extension LogWriter {
    /// Whether a room has more entries or bytes than it may.
    func isPast(_ row: RoomRow) -> Bool { row.count > retention.count ?? .max || row.bytes > retention.bytes ?? .max }

    /// One step: what waits, a part of retention, and a sign of life while the disk does not take what it should.
    func tend(now: Int64, ran: Int64) -> LogCare {
        gauge.begin()
        defer { rest() }
        logClock.read(calendar: now, ran: ran, holdsNothing: logClock.isYoung && holdsNothing)
        let before = retaining
        var care = LogCare()
        do throws(SQLiteFailure) {
            let ledger = try present()
            var batch = Batch(start: clock.now)
            if waitingReadCount > 0 || !health.isHealthy { try begin(&batch, ledger) }
            if logClock.record.isFar(from: storedClock, by: RetentionSweep.clock) { try begin(&batch, ledger) }
            if !health.isHealthy { try ledger.connection.run("PRAGMA user_version = \(LogPlace.version)") }
            retaining.begin(ran: ran)
            // By a calendar that is not believed nothing is too old.
            let time = logClock.doubt == nil ? logClock.time : 0
            try lookAtRooms(now: time, ledger)
            let trimmed = try trimRooms(now: time, in: &batch, ledger, care: &care)
            let forgotten = try forgetDevices(now: time, in: &batch, ledger)
            if try ledger.connection.number("PRAGMA freelist_count") ?? 0 > RetentionSweep.pages * 4 {
                try begin(&batch, ledger)
                try ledger.connection.run("PRAGMA incremental_vacuum(\(RetentionSweep.pages))")
            }
            if trimmed > 0 { hook?(.hubTrims) }
            if batch.isOpen { try ledger.write(logClock.record) }
            try commit(batch, ledger)
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

    /// Whether nothing is stored, as far as that can be told.
    private var holdsNothing: Bool { (try? present().holdsNothing()) ?? false }

    /// Looks at some rooms, whether they have what is too much or too old.
    private func lookAtRooms(now: Int64, _ ledger: LogLedger) throws(SQLiteFailure) {
        // Those that are found wait for their turn; no more of them than a few steps' worth.
        guard let last = retaining.room, retaining.due.count < RetentionSweep.rooms * 4 else { return }
        let found = try ledger.rooms(after: last, limit: RetentionSweep.rooms)
        for (name, row) in found {
            if isPast(row) { retaining.due.insert(name) } else if try isTooOld(row, now: now, ledger) { retaining.due.insert(name) }
        }
        retaining.room = found.count < RetentionSweep.rooms ? nil : found.last?.1.number
    }

    private func isTooOld(_ row: RoomRow, now: Int64, _ ledger: LogLedger) throws(SQLiteFailure) -> Bool {
        guard let age = retention.age, row.count > 0 else { return false }
        var oldest: Int64?
        try ledger.oldest(row, limit: 1) { _, at in
            oldest = at
            return false
        }
        return oldest.map { $0 < now - age } ?? false
    }

    private func trimRooms(
        now: Int64, in batch: inout Batch, _ ledger: LogLedger, care: inout LogCare
    ) throws(SQLiteFailure) -> Int {
        var trimmed = 0
        while trimmed < RetentionSweep.entries, let name = retaining.due.first {
            guard var room = try room(name, ledger) else {
                retaining.due.remove(name)
                continue
            }
            let left = RetentionSweep.entries - trimmed
            let taken = try trim(&room.row, now: now, atMost: left, in: &batch, ledger)
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

    /// Takes the oldest entries of a room away, as long as there are too many, too many bytes, or they are too old.
    private func trim(
        _ row: inout RoomRow, now: Int64, atMost limit: Int, in batch: inout Batch, _ ledger: LogLedger
    ) throws(SQLiteFailure) -> Int {
        var (taken, rest) = (0, row)
        let retention = retention
        try ledger.oldest(row, limit: limit) { size, at in
            let isPast = rest.count > retention.count ?? .max || rest.bytes > retention.bytes ?? .max
            guard isPast || retention.age.map({ at < now - $0 }) ?? false else { return false }
            rest.head.base += 1
            rest.bytes -= Int64(size)
            taken += 1
            return true
        }
        guard taken > 0 else { return 0 }
        try begin(&batch, ledger)
        // A cursor that stands there is resumed, and its proof says which entry that was.
        rest.head.below = try ledger.entry(rest.head.base - 1, of: row)?.stamp
        try ledger.delete(row, below: rest.head.base)
        try ledger.trim(rest)
        row = rest
        return taken
    }

    /// Looks at some devices, and forgets those that have been silent for longer than anything they issued is taken.
    private func forgetDevices(now: Int64, in batch: inout Batch, _ ledger: LogLedger) throws(SQLiteFailure) -> Int {
        guard let last = retaining.device else { return 0 }
        // What was stored at the end of that time may have been issued by a clock that is ahead, as far as that is taken; and whoever
        // judges what comes hears of the log's time a little later.
        let window = min(max(retention.devices, RoomsLimits.window), RoomsLimits.number)
        let bound = now - window - RoomsLimits.future - RetentionSweep.lag
        let found = try ledger.devices(after: last, limit: RetentionSweep.devices, names: names.prefix)
        retaining.device = found.count < RetentionSweep.devices ? nil : found.last?.number
        let silent = found.filter { $0.at < ($0.isName ? now - RetentionSweep.names : bound) }.map(\.number)
        guard !silent.isEmpty else { return 0 }
        try begin(&batch, ledger)
        logClock.hasForgotten()
        for number in silent { try ledger.forget(device: number) }
        // Marks that are ahead of their rows were written with the transactions before.
        for name in rooms.keys { rooms[name]?.devices.removeAll() }
        return silent.count
    }
}
