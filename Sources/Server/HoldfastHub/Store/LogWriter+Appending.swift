import RoomCore
import RoomsStorage

/// The changes of a transaction that are not written yet.
struct Batch {
    let start: ContinuousClock.Instant
    var isOpen = false
    /// A failure to read something.
    var doubt: SQLiteFailure?
    var records = 0
    var changed: Set<RoomName> = []

    init(start: ContinuousClock.Instant) { self.start = start }
}

/// An open room: its rows as they will be at the end of the transaction.
struct OpenRoom {
    var row: RoomRow
    /// Devices that published recently.
    var devices: [DeviceID: DeviceRow] = [:]
    /// Devices whose rows are not up to date.
    var changed: Set<DeviceID> = []
    /// The maximum number of cached devices.
    static let mostDevices = 1024

    init(row: RoomRow) { self.row = row }

    /// Creates a room in which nothing was written yet.
    init() { row = RoomRow(number: 0, head: LogHead(epoch: .random(in: 1 ... .max), head: 0, base: 1, reads: []), bytes: 0) }

    func device(_ id: DeviceID, _ statements: LogStatements) throws(SQLiteFailure) -> DeviceRow? {
        if let known = devices[id] { return known }
        return try statements.tables.device(id, room: row.number)
    }
}

extension LogWriter {
    func begin(_ batch: inout Batch, _ statements: LogStatements) throws(SQLiteFailure) {
        guard !batch.isOpen else { return }
        hook?(.hubAppends)
        try statements.begin.run()
        batch.isOpen = true
    }

    /// Opens a room; a room that is not stored stays so until something is written in it.
    func opened(_ name: RoomName, _ statements: LogStatements) throws(SQLiteFailure) -> LogHead {
        let room = try room(name, statements) ?? OpenRoom()
        let head = try opened(room, name, statements)
        rooms[name] = room
        return head
    }

    private func opened(_ room: OpenRoom, _ name: RoomName, _ statements: LogStatements) throws(SQLiteFailure) -> LogHead {
        var head = room.row.head
        if room.row.count > 0 {
            if let last = try statements.entry(head.head, of: room.row) { (head.last, head.lastStamp) = (last.at, last.stamp) }
        } else {
            head.lastStamp = head.below
        }
        head.bytes = room.row.bytes
        head.reads = try statements.tables.reads(room: room.row.number)
        if let waiting = waitingReads[name] { head.reads = merged(head.reads, waiting) }
        return head
    }

    /// Gives a room a new epoch, within the transaction; returns nil if the room cannot be read.
    func renew(_ name: RoomName, in batch: inout Batch, _ statements: LogStatements) throws(SQLiteFailure) -> LogHead? {
        do throws(SQLiteFailure) { _ = try opened(name, statements) } catch {
            try doubt(error, &batch, statements)
            return nil
        }
        guard var room = rooms[name] else { return nil }
        // The epoch must differ: sequence numbers of the old one may have been used twice already.
        let old = room.row.head.epoch
        repeat { room.row.head.epoch = .random(in: 1 ... .max) } while room.row.head.epoch == old
        if room.row.number != 0 {
            try begin(&batch, statements)
            try statements.renew(room.row)
        }
        rooms[name] = room
        return try opened(room, name, statements)
    }

    private func merged(_ stored: [HubFrame.ReadMarker], _ waiting: [UserName: Int64]) -> [HubFrame.ReadMarker] {
        var reads = Dictionary(stored.map { ($0.user, $0.seq) }) { max($0, $1) }
        reads.merge(waiting) { max($0, $1) }
        return reads.map { HubFrame.ReadMarker(user: $0, seq: $1) }.sorted { $0.user < $1.user }
    }

    /// Returns a room that is open or stored.
    func room(_ name: RoomName, _ statements: LogStatements) throws(SQLiteFailure) -> OpenRoom? {
        if let room = rooms[name] { return room }
        guard let row = try statements.tables.room(name) else { return nil }
        return OpenRoom(row: row)
    }

    /// Appends records; writes none of them if they do not follow the room's last entry, or if the room cannot be read.
    ///
    /// A later failure fails the whole transaction.
    func append(
        _ records: [LogRecord], to name: RoomName, in batch: inout Batch, _ statements: LogStatements
    ) throws(SQLiteFailure) -> Bool {
        guard var room = try room(name, statements) else { return false }
        // The room is taken out of the dictionary and put back, so that it is changed without a copy.
        rooms[name] = nil
        var follows = false
        do throws(SQLiteFailure) { follows = try follow(records, room, statements) } catch { try doubt(error, &batch, statements) }
        guard follows else {
            rooms[name] = room
            return false
        }
        try begin(&batch, statements)
        if room.row.number == 0 {
            guard let number = try statements.insert(name, epoch: room.row.head.epoch) else {
                rooms[name] = room
                return false
            }
            room.row.number = number
        }
        for record in records {
            switch record {
            case .entry(let entry):
                let mark = DeviceMark(high: entry.cseq, id: entry.id, user: entry.user, at: entry.at)
                let sender = try note(mark, of: entry.device, in: &room, statements)
                let size = try statements.insert(entry, room: room.row.number, sender: sender)
                room.row.head.head = entry.seq
                room.row.bytes += Int64(size)
            case .void(let device, let user, let cseq, let id, let at):
                try note(DeviceMark(high: cseq, id: id, user: user, at: at), of: device, in: &room, statements)
            }
            hook?(.hubAppendsPartly)
        }
        batch.records += records.count
        batch.changed.insert(name)
        if isPast(room.row) { retaining.due.insert(name) }
        rooms[name] = room
        return true
    }

    /// Returns whether entries continue the room, numbers of devices only rise, and each device has one user.
    private func follow(_ records: [LogRecord], _ room: OpenRoom, _ statements: LogStatements) throws(SQLiteFailure) -> Bool {
        var next = room.row.head.head + 1
        var highs: [DeviceID: Int64] = [:]
        for record in records {
            let (device, user, cseq): (DeviceID, UserName, Int64)
            switch record {
            case .entry(let entry):
                guard entry.seq == next, next <= LogSchema.greatestSeq else { return false }
                next += 1
                (device, user, cseq) = (entry.device, entry.user, entry.cseq)
            case .void(let voided, let owner, let number, _, _): (device, user, cseq) = (voided, owner, number)
            }
            var high = highs[device]
            if high == nil { high = try room.device(device, statements)?.mark.high }
            // A device that is new in this room may belong to another user by its publications elsewhere.
            if high == nil, let owner = try statements.tables.owner(of: device)?.user, owner != user { return false }
            guard cseq > high ?? 0 else { return false }
            highs[device] = cseq
        }
        return true
    }

    @discardableResult
    private func note(
        _ mark: DeviceMark, of id: DeviceID, in room: inout OpenRoom, _ statements: LogStatements
    ) throws(SQLiteFailure) -> Int64 {
        if let known = try room.device(id, statements) {
            if room.devices[id] == nil, room.devices.count >= OpenRoom.mostDevices { try write(&room, statements) }
            room.devices[id] = DeviceRow(number: known.number, mark: mark)
            room.changed.insert(id)
            return known.number
        }
        if room.devices.count >= OpenRoom.mostDevices { try write(&room, statements) }
        let number = try statements.insert(mark, of: id, room: room.row.number)
        room.devices[id] = DeviceRow(number: number, mark: mark)
        return number
    }

    /// Writes the changed marks of devices, and clears the cache of devices, which is full.
    private func write(_ room: inout OpenRoom, _ statements: LogStatements) throws(SQLiteFailure) {
        try writeMarks(&room, statements)
        room.devices.removeAll(keepingCapacity: true)
    }

    private func writeMarks(_ room: inout OpenRoom, _ statements: LogStatements) throws(SQLiteFailure) {
        for id in room.changed { if let row = room.devices[id] { try statements.update(row) } }
        room.changed.removeAll(keepingCapacity: true)
    }

    /// Writes the row of a room, and the rows of its devices.
    func write(_ name: RoomName, _ statements: LogStatements) throws(SQLiteFailure) {
        guard var room = rooms.removeValue(forKey: name) else { return }
        try writeMarks(&room, statements)
        try statements.update(room.row)
        rooms[name] = room
    }

    /// Writes everything that a transaction has changed except entries: each row once, however often it changed.
    func finish(_ batch: Batch, _ statements: LogStatements) throws(SQLiteFailure) {
        for name in batch.changed { try write(name, statements) }
        guard waitingReadCount > 0 else { return }
        for (name, users) in waitingReads {
            guard let room = try room(name, statements), room.row.number != 0 else { continue }
            for (user, seq) in users { try statements.mark(user, upTo: seq, room: room.row.number) }
        }
    }
}
