import RoomCore
import RoomsStorage

/// What a transaction has changed and not written yet.
struct Batch {
    let start: ContinuousClock.Instant
    var isOpen = false
    /// What kept something from being read.
    var doubt: SQLiteFailure?
    var records = 0
    var changed: Set<RoomName> = []

    init(start: ContinuousClock.Instant) { self.start = start }
}

/// A room in use: what its rows will say when the transaction ends.
struct OpenRoom {
    var row: RoomRow
    /// Devices that published lately.
    var devices: [DeviceID: DeviceRow] = [:]
    /// Those whose rows are behind.
    var changed: Set<DeviceID> = []
    /// Devices that are known at most.
    static let mostDevices = 1024

    init(row: RoomRow) { self.row = row }

    /// One in which nothing was written yet.
    init() { row = RoomRow(number: 0, head: LogHead(epoch: .random(in: 1 ... .max), head: 0, base: 1, reads: []), bytes: 0) }

    func device(_ id: DeviceID, _ ledger: LogLedger) throws(SQLiteFailure) -> DeviceRow? {
        if let known = devices[id] { return known }
        return try ledger.tables.device(id, room: row.number)
    }
}

extension LogWriter {
    func begin(_ batch: inout Batch, _ ledger: LogLedger) throws(SQLiteFailure) {
        guard !batch.isOpen else { return }
        hook?(.hubAppends)
        try ledger.begin.run()
        batch.isOpen = true
    }

    /// A room; one that is not stored stays so until something is written in it.
    func opened(_ name: RoomName, _ ledger: LogLedger) throws(SQLiteFailure) -> LogHead {
        let room = try room(name, ledger) ?? OpenRoom()
        let head = try opened(room, name, ledger)
        rooms[name] = room
        return head
    }

    private func opened(_ room: OpenRoom, _ name: RoomName, _ ledger: LogLedger) throws(SQLiteFailure) -> LogHead {
        var head = room.row.head
        if room.row.count > 0 {
            if let last = try ledger.entry(head.head, of: room.row) { (head.last, head.lastStamp) = (last.at, last.stamp) }
        } else {
            head.lastStamp = head.below
        }
        head.bytes = room.row.bytes
        head.reads = try ledger.tables.reads(room: room.row.number)
        if let waiting = waitingReads[name] { head.reads = merged(head.reads, waiting) }
        return head
    }

    /// Gives a room another epoch, within the transaction; nil if what is there cannot be read.
    func renew(_ name: RoomName, in batch: inout Batch, _ ledger: LogLedger) throws(SQLiteFailure) -> LogHead? {
        do throws(SQLiteFailure) { _ = try opened(name, ledger) } catch {
            try doubt(error, &batch, ledger)
            return nil
        }
        guard var room = rooms[name] else { return nil }
        // Never the same: numbers of this epoch may have been given twice already.
        let old = room.row.head.epoch
        repeat { room.row.head.epoch = .random(in: 1 ... .max) } while room.row.head.epoch == old
        if room.row.number != 0 {
            try begin(&batch, ledger)
            try ledger.renew(room.row)
        }
        rooms[name] = room
        return try opened(room, name, ledger)
    }

    private func merged(_ stored: [HubFrame.ReadMarker], _ waiting: [UserName: Int64]) -> [HubFrame.ReadMarker] {
        var reads = Dictionary(stored.map { ($0.user, $0.seq) }) { max($0, $1) }
        reads.merge(waiting) { max($0, $1) }
        return reads.map { HubFrame.ReadMarker(user: $0, seq: $1) }.sorted { $0.user < $1.user }
    }

    /// A room that is open, or stored.
    func room(_ name: RoomName, _ ledger: LogLedger) throws(SQLiteFailure) -> OpenRoom? {
        if let room = rooms[name] { return room }
        guard let row = try ledger.tables.room(name) else { return nil }
        return OpenRoom(row: row)
    }

    /// Appends records, unless they do not follow what is there, or what is there cannot be read: then nothing is written of them.
    ///
    /// What fails after that fails all that is in the transaction.
    func append(
        _ records: [LogRecord], to name: RoomName, in batch: inout Batch, _ ledger: LogLedger
    ) throws(SQLiteFailure) -> Bool {
        guard var room = try room(name, ledger) else { return false }
        // Out of the dictionary and back: the room changes in place.
        rooms[name] = nil
        var follows = false
        do throws(SQLiteFailure) { follows = try follow(records, room, ledger) } catch { try doubt(error, &batch, ledger) }
        guard follows else {
            rooms[name] = room
            return false
        }
        try begin(&batch, ledger)
        if room.row.number == 0 {
            guard let number = try ledger.insert(name, epoch: room.row.head.epoch) else {
                rooms[name] = room
                return false
            }
            room.row.number = number
        }
        for record in records {
            switch record {
            case .entry(let entry):
                let mark = DeviceMark(high: entry.cseq, id: entry.id, user: entry.user, at: entry.at)
                let sender = try note(mark, of: entry.device, in: &room, ledger)
                let size = try ledger.insert(entry, room: room.row.number, sender: sender)
                room.row.head.head = entry.seq
                room.row.bytes += Int64(size)
            case .void(let device, let user, let cseq, let id, let at):
                try note(DeviceMark(high: cseq, id: id, user: user, at: at), of: device, in: &room, ledger)
            }
            hook?(.hubAppendsPartly)
        }
        batch.records += records.count
        batch.changed.insert(name)
        if isPast(room.row) { retaining.due.insert(name) }
        rooms[name] = room
        return true
    }

    /// Whether entries go on where the room ends, numbers of devices only rise, and none is of two users.
    private func follow(_ records: [LogRecord], _ room: OpenRoom, _ ledger: LogLedger) throws(SQLiteFailure) -> Bool {
        var next = room.row.head.head + 1
        var highs: [DeviceID: Int64] = [:]
        for record in records {
            let (device, user, cseq): (DeviceID, UserName, Int64)
            switch record {
            case .entry(let entry):
                guard entry.seq == next, next <= LogSchema.greatestSeq else { return false }
                next += 1
                (device, user, cseq) = (entry.device, entry.user, entry.cseq)
            case .void(let burnt, let owner, let number, _, _): (device, user, cseq) = (burnt, owner, number)
            }
            var high = highs[device]
            if high == nil { high = try room.device(device, ledger)?.mark.high }
            // One that is new here may be another user's by what it has published elsewhere.
            if high == nil, let owner = try ledger.tables.owner(of: device)?.user, owner != user { return false }
            guard cseq > high ?? 0 else { return false }
            highs[device] = cseq
        }
        return true
    }

    @discardableResult
    private func note(
        _ mark: DeviceMark, of id: DeviceID, in room: inout OpenRoom, _ ledger: LogLedger
    ) throws(SQLiteFailure) -> Int64 {
        if let known = try room.device(id, ledger) {
            if room.devices[id] == nil, room.devices.count >= OpenRoom.mostDevices { try write(&room, ledger) }
            room.devices[id] = DeviceRow(number: known.number, mark: mark)
            room.changed.insert(id)
            return known.number
        }
        if room.devices.count >= OpenRoom.mostDevices { try write(&room, ledger) }
        let number = try ledger.insert(mark, of: id, room: room.row.number)
        room.devices[id] = DeviceRow(number: number, mark: mark)
        return number
    }

    /// Writes the marks of devices that are behind, and forgets those that one knew: there are too many of them.
    private func write(_ room: inout OpenRoom, _ ledger: LogLedger) throws(SQLiteFailure) {
        try writeMarks(&room, ledger)
        room.devices.removeAll(keepingCapacity: true)
    }

    private func writeMarks(_ room: inout OpenRoom, _ ledger: LogLedger) throws(SQLiteFailure) {
        for id in room.changed { if let row = room.devices[id] { try ledger.update(row) } }
        room.changed.removeAll(keepingCapacity: true)
    }

    /// Writes the row of a room, and those of its devices.
    func write(_ name: RoomName, _ ledger: LogLedger) throws(SQLiteFailure) {
        guard var room = rooms.removeValue(forKey: name) else { return }
        try writeMarks(&room, ledger)
        try ledger.update(room.row)
        rooms[name] = room
    }

    /// Writes what a transaction has changed beside its entries: each row once, however often it changed.
    func finish(_ batch: Batch, _ ledger: LogLedger) throws(SQLiteFailure) {
        for name in batch.changed { try write(name, ledger) }
        guard waitingReadCount > 0 else { return }
        for (name, users) in waitingReads {
            guard let room = try room(name, ledger), room.row.number != 0 else { continue }
            for (user, seq) in users { try ledger.mark(user, upTo: seq, room: room.row.number) }
        }
    }
}
