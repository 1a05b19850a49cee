import GRDB
import RoomCore
import RoomsStorage

extension StoreTables {
    /// One transaction: the rows of rooms are written at its end, each once.
    struct Writing {
        let database: Database
        let limit: Int64
        private var rooms: [RoomName: Room] = [:]
        private var changed: Set<RoomName> = []
        private var device: DeviceID?
        private var buffer: [UInt8] = []

        init(database: Database, limit: Int64) { (self.database, self.limit) = (database, limit) }

        mutating func apply(_ change: StoreChange) throws {
            switch change {
            case .renew(let device, let outbox): try renew(device, outbox)
            case .queue(let row):
                try alter(row.room) { bounds throws(RoomStoreError) in try bounds.queue(row) }
                try insert(row)
            case .mark(let name, let cseq, let state):
                guard let room = try known(name) else { return }
                let (kind, failure) = Self.columns(state)
                try run(
                    "UPDATE outbox SET state = ?, code = ?, reason = ? WHERE room = ? AND cseq = ?",
                    [kind, failure?.code.rawValue ?? 0, failure?.text ?? "", room.number, cseq])
            case .remove(let name, let cseq):
                guard let room = try known(name) else { return }
                try run("DELETE FROM outbox WHERE room = ? AND cseq = ?", [room.number, cseq])
            case .append(let name, let epoch, let entries):
                let limit = limit
                var kept: ArraySlice<Entry> = []
                try alter(name) { bounds throws(RoomStoreError) in
                    kept = try bounds.append(name, epoch: epoch, entries, limit: limit)
                }
                try insert(kept, name)
                try trim(name)
            case .replace(let name, let cursor, let entries):
                let limit = limit
                var kept: ArraySlice<Entry> = []
                try alter(name) { bounds throws(RoomStoreError) in
                    kept = try bounds.replace(name, cursor: cursor, entries, limit: limit)
                }
                try clear(name)
                try insert(kept, name)
            case .prepend(let name, let epoch, let entries):
                let limit = limit
                var kept: ArraySlice<Entry> = []
                try alter(name) { bounds throws(RoomStoreError) in
                    kept = try bounds.prepend(name, epoch: epoch, entries, limit: limit)
                }
                try insert(kept, name)
            case .prove(let name, let proof): try alter(name) { $0.proof = proof }
            case .read(let name, let seq): try alter(name) { $0.read(upTo: seq) }
            case .forget(let name):
                guard try known(name) != nil else { return }
                try alter(name) { $0.forget() }
                try clear(name)
            }
        }

        /// Writes what was only counted so far.
        mutating func finish() throws {
            for name in changed {
                guard let room = rooms[name] else { continue }
                try run(
                    "UPDATE rooms SET epoch = ?, seq = ?, first = ?, next = ?, read = ?, proof = ? WHERE id = ?",
                    [
                        Int64(bitPattern: room.bounds.cursor.epoch), room.bounds.cursor.seq, room.bounds.first, room.bounds.next,
                        room.bounds.read, room.bounds.proof.map { StoreTables.blob($0.bits) } ?? .null, room.number,
                    ])
            }
        }

        private mutating func renew(_ device: DeviceID, _ outbox: [OutboxRow]) throws {
            try finish()
            (rooms, changed, self.device) = ([:], [], device)
            try run("UPDATE store SET device = ?", [StoreTables.blob(device.bits)])
            try run("DELETE FROM outbox", [])
            try run("UPDATE rooms SET next = 1", [])
            for row in outbox {
                try alter(row.room) { $0.next = max($0.next, row.publication.cseq + 1) }
                try insert(row)
            }
        }

        /// A room that has a row.
        private mutating func known(_ name: RoomName) throws -> Room? {
            if let room = rooms[name] { return room }
            let room = try StoreTables.room(name, database)
            rooms[name] = room
            return room
        }

        /// Changes what is known of a room, which gets a row if it has none.
        private mutating func alter(_ name: RoomName, _ body: (inout StoredBounds) throws(RoomStoreError) -> Void) throws {
            var room: Room
            if let known = try known(name) {
                room = known
            } else {
                try run("INSERT INTO rooms (name, epoch, seq, first, next, read) VALUES (?, 0, 0, 1, 1, 0)", [name.text])
                room = Room(number: database.lastInsertedRowID, bounds: StoredBounds())
            }
            try body(&room.bounds)
            rooms[name] = room
            changed.insert(name)
        }

        private mutating func insert(_ entries: ArraySlice<Entry>, _ name: RoomName) throws {
            guard !entries.isEmpty, let room = rooms[name] else { return }
            let own = try device ?? StoreTables.device(database)
            device = own
            let statement = try database.cachedStatement(sql: "INSERT INTO entries (place, counts, body) VALUES (?, ?, ?)")
            for entry in entries {
                buffer.removeAll(keepingCapacity: true)
                StoredEntry.encode(entry, into: &buffer)
                let counts = entry.device != own && !StoredRoomSummary.remarks.contains(entry.type)
                try statement.execute(arguments: [StoreTables.place(room.number, entry.seq), counts, StoreTables.blob(buffer)])
            }
        }

        private mutating func trim(_ name: RoomName) throws {
            guard let room = rooms[name] else { return }
            try run(
                "DELETE FROM entries WHERE place >= ? AND place < ?",
                [StoreTables.place(room.number, 0), StoreTables.place(room.number, room.bounds.first)])
        }

        private mutating func clear(_ name: RoomName) throws {
            guard let room = rooms[name] else { return }
            try run("DELETE FROM entries WHERE place >= ? AND place < ?", [room.number << 40, (room.number + 1) << 40])
        }

        private mutating func insert(_ row: OutboxRow) throws {
            guard let room = rooms[row.room] else { return }
            let (publication, content) = (row.publication, row.publication.content)
            let (state, failure) = Self.columns(row.state)
            let isBinary = if case .binary? = content?.payload { true } else { false }
            try run(
                """
                INSERT INTO outbox (room, cseq, message, sent, type, kind, about, isBinary, payload, state, code, reason)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
                [
                    room.number, publication.cseq, StoreTables.blob(publication.id.bits), publication.sent, content?.type,
                    content?.about?.kind, content?.about?.seq, isBinary, StoreTables.blob(content?.payload.bytes ?? []), state,
                    failure?.code.rawValue ?? 0, failure?.text ?? "",
                ])
        }

        private static func columns(_ state: OutboxRow.State) -> (Int64, OutboxFailure?) {
            switch state {
            case .queued: (0, nil)
            case .burning(let failure): (1, failure)
            case .failed(let failure): (2, failure)
            }
        }

        private func run(_ sql: String, _ arguments: StatementArguments) throws {
            try database.cachedStatement(sql: sql).execute(arguments: arguments)
        }
    }
}
