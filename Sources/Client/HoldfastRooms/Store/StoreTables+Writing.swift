import RoomCore
import RoomsStorage

extension StoreTables {
    /// One transaction; the changed rows of rooms are written at its end, each once.
    struct Writing {
        let tables: StoreTables
        let limit: Int64
        private var rooms: [RoomName: Room] = [:]
        private var changed: Set<RoomName> = []
        private var device: DeviceID?
        private var buffer: [UInt8] = []

        init(_ tables: StoreTables, limit: Int64) { (self.tables, self.limit) = (tables, limit) }

        mutating func apply(_ change: StoreChange) throws {
            switch change {
            case .renew(let device, let outbox): return try renew(device, outbox)
            case .mark(let name, let cseq, let state):
                guard let room = try known(name) else { return }
                let (kind, code, reason) = Self.columns(state)
                return try tables.statement("UPDATE outbox SET state = ?, code = ?, reason = ? WHERE room = ? AND cseq = ?")
                    .run(kind, code, reason, room.number, cseq)
            case .remove(let name, let cseq):
                guard let room = try known(name) else { return }
                return try tables.statement("DELETE FROM outbox WHERE room = ? AND cseq = ?").run(room.number, cseq)
            case .forget(let name): guard try known(name) != nil else { return }
            case .queue, .append, .replace, .prepend, .prove, .read: break
            }
            guard let name = change.alteredRoom else { return }
            let limit = limit
            var kept: ArraySlice<Entry> = []
            let room = try alter(name) { bounds throws(RoomStoreError) in kept = try bounds.alter(by: change, limit: limit) }
            switch change {
            case .queue(let row): try insert(row, room)
            case .replace, .forget: try delete(from: room.keys.start, to: room.keys.end)
            default: break
            }
            try insert(kept, room)
            if case .append = change { try delete(from: room.keys.start, to: room.place(room.bounds.first)) }
        }

        /// Writes the changed rows of rooms.
        mutating func finish() throws {
            let statement = try tables.statement(
                "UPDATE rooms SET epoch = ?, seq = ?, first = ?, next = ?, read = ?, proof = ? WHERE id = ?")
            for name in changed {
                guard let room = rooms[name] else { continue }
                let (bounds, proof) = (room.bounds, room.bounds.proof.map { StoredEntry.bytes(of: $0.bits) })
                try statement.run(
                    Int64(bitPattern: bounds.cursor.epoch), bounds.cursor.seq, bounds.first, bounds.next, bounds.read, proof, room.number)
            }
        }

        private mutating func renew(_ device: DeviceID, _ outbox: [OutboxRow]) throws {
            try finish()
            (rooms, changed, self.device) = ([:], [], device)
            try tables.statement("UPDATE store SET device = ?").run(StoredEntry.bytes(of: device.bits))
            try tables.connection.run("DELETE FROM outbox; UPDATE rooms SET next = 1")
            for row in outbox {
                let room = try alter(row.room) { $0.next = max($0.next, row.publication.cseq + 1) }
                try insert(row, room)
            }
        }

        /// Returns a room that has a row, or nil.
        private mutating func known(_ name: RoomName) throws -> Room? {
            if let room = rooms[name] { return room }
            rooms[name] = try tables.room(name)
            return rooms[name]
        }

        /// Changes the bounds of a room, and creates its row if it has none.
        private mutating func alter(_ name: RoomName, _ body: (inout StoredBounds) throws(RoomStoreError) -> Void) throws -> Room {
            var room: Room
            if let known = try known(name) {
                room = known
            } else {
                try tables.statement("INSERT INTO rooms (name, epoch, seq, first, next, read) VALUES (?, 0, 0, 1, 1, 0)").run(name.text)
                room = Room(number: tables.connection.lastRow)
            }
            try body(&room.bounds)
            rooms[name] = room
            changed.insert(name)
            return room
        }

        private mutating func insert(_ entries: ArraySlice<Entry>, _ room: Room) throws {
            guard !entries.isEmpty else { return }
            let own = try device ?? tables.device()
            device = own
            let statement = try tables.statement("INSERT INTO entries (place, counts, body) VALUES (?, ?, ?)")
            for entry in entries {
                buffer.removeAll(keepingCapacity: true)
                StoredEntry.encode(entry, into: &buffer)
                let counts: Int64 = entry.device != own && !StoredRoomSummary.annotations.contains(entry.type) ? 1 : 0
                try statement.run(room.place(entry.seq), counts, bytes: buffer)
            }
        }

        private func delete(from start: Int64, to end: Int64) throws {
            try tables.statement("DELETE FROM entries WHERE place >= ? AND place < ?").run(start, end)
        }

        private func insert(_ row: OutboxRow, _ room: Room) throws {
            let (publication, content) = (row.publication, row.publication.content)
            let (state, code, reason) = Self.columns(row.state)
            let isBinary: Int64 = if case .binary? = content?.payload { 1 } else { 0 }
            try tables.statement(
                """
                INSERT INTO outbox (room, cseq, message, sent, type, kind, about, isBinary, payload, state, code, reason)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
            ).run(
                room.number, publication.cseq, StoredEntry.bytes(of: publication.id.bits), publication.sent, content?.type,
                content?.about?.kind, content?.about?.seq, isBinary, content?.payload.bytes ?? [], state, code, reason)
        }

        private static func columns(_ state: OutboxRow.State) -> (state: Int64, code: Int64, reason: String) {
            switch state {
            case .queued: (0, 0, "")
            case .voiding(let failure): (1, failure.code.rawValue, failure.text)
            case .failed(let failure): (2, failure.code.rawValue, failure.text)
            }
        }
    }
}
