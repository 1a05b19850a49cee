import Foundation
import HoldfastHub
import HoldfastRooms
import RoomCore

/// Stores on a small disk that becomes full and gets space again, and on a read-only disk.
struct FullDisk {
    let directory: String
    private static let room = RoomName("a")!
    private static let device = DeviceID(Bits128(high: 1, low: 1))
    private static let now: Int64 = 1_700_000_000_000

    /// Frees space.
    private func dropBallast() throws { try FileManager.default.removeItem(atPath: directory + "/ballast") }

    func hub() async throws {
        let log = try await SQLiteRoomLog(directory: directory + "/log")
        guard case .opened(_, let head)? = await log.carryOut([.open(Self.room)]).first else { throw Violation("no room on an empty disk") }
        var acked = try await fill(log, from: 0)
        let health = await log.health
        try demand(health == .failing(.full), "health is \(health)")
        try demand(acked > 0, "nothing was acked before the disk was full")
        // Acked entries can be read, and the room can be opened again at the same position.
        try await check(log, acked: acked, epoch: head.epoch)
        _ = await log.tend(now: Self.now, ran: 0)
        try demand(try await fill(log, from: acked) >= acked, "the log went back")
        acked = Int64(try await count(log))
        do {
            try await log.backup(to: directory + "/copy")
            throw Violation("a backup was made on a full disk")
        } catch is RoomLogError {}
        try demand(
            try FileManager.default.contentsOfDirectory(atPath: directory).sorted() == ["ballast", "log"], "a backup left something")
        try dropBallast()
        let more = try await fill(log, from: acked)
        try demand(more > acked, "it does not go on when there is room")
        try await check(log, acked: more, epoch: head.epoch)
        await log.close()
        let again = try await SQLiteRoomLog(directory: directory + "/log", checkedBytes: .max)
        try await check(again, acked: more, epoch: head.epoch)
    }

    /// Appends until the disk is full.
    private func fill(_ log: SQLiteRoomLog, from start: Int64) async throws -> Int64 {
        var (acked, batch): (Int64, Int64) = (start, 0)
        while acked < start + 100_000 {
            batch += 1
            let records = (acked + 1...acked + 8).map { LogRecord.entry(Self.entry($0)) }
            guard await log.carryOut([.append(Self.room, batch: batch, records)]) == [.appended(Self.room, batch: batch)] else {
                return acked
            }
            acked += 8
        }
        throw Violation("the disk does not run full")
    }

    private func count(_ log: SQLiteRoomLog) async throws -> Int {
        guard
            case .fetched(1, let entries, base: 1, _)? = await log.carryOut([.fetchAfter(1, Self.room, seq: 0, limit: .max, bytes: .max)])
                .first
        else { throw Violation("what was acked cannot be read") }
        return entries.count
    }

    private func check(_ log: SQLiteRoomLog, acked: Int64, epoch: UInt64) async throws {
        guard case .opened(_, let head)? = await log.carryOut([.open(Self.room)]).first else { throw Violation("the room is not opened") }
        try demand(head.head == acked && head.epoch == epoch, "\(acked) were acked, the log ends at \(head.head)")
        let count = try await count(log)
        try demand(count == Int(acked), "\(acked) were acked, \(count) are there")
    }

    func client() async throws {
        let store = try SQLiteRoomStore(path: directory + "/store")
        var queued = try await queue(store, from: 0)
        try demand(queued > 0, "nothing was queued before the disk was full")
        try demand(try await store.room(Self.room).outbox.count == Int(queued), "what was queued is not there")
        queued = try await queue(store, from: queued)
        try dropBallast()
        queued = try await queue(store, from: queued)
        let rows = try await store.room(Self.room).outbox
        try demand(rows.map(\.publication.cseq) == Array(1...queued), "\(rows.count) are in the outbox, \(queued) were queued")
        try store.close()
        let again = try SQLiteRoomStore(path: directory + "/store")
        try demand(try await again.room(Self.room).outbox == rows, "the outbox is another when it is opened again")
    }

    /// Queues until the disk is full.
    private func queue(_ store: SQLiteRoomStore, from start: Int64) async throws -> Int64 {
        for number in start + 1...start + 100_000 {
            let content = Publication.Content(type: "chat.text", payload: .binary([UInt8](repeating: 1, count: 900)))
            let publication = Publication(cseq: number, id: Self.id(number), sent: Self.now, content: content)
            do throws(RoomStoreError) { try await store.commit([.queue(OutboxRow(room: Self.room, publication: publication))]) } catch {
                try demand(error == .full, "a full disk is told as: \(error)")
                return number - 1
            }
        }
        throw Violation("the disk does not run full")
    }

    func readOnlyHub() async throws {
        do throws(RoomLogError) {
            _ = try await SQLiteRoomLog(directory: directory + "/log")
        } catch {
            guard case .readOnly = error else { throw Violation("it is told as: \(error)") }
            return
        }
        throw Violation("it was opened")
    }

    func readOnlyClient() async throws {
        do throws(RoomStoreError) { _ = try SQLiteRoomStore(path: directory + "/store") } catch {
            guard case .readOnly = error else { throw Violation("it is told as: \(error)") }
            return
        }
        throw Violation("it was opened")
    }

    private static func id(_ number: Int64) -> MessageID { MessageID(Bits128(high: 0x7000, low: UInt64(number))) }

    private static func entry(_ seq: Int64) -> Entry {
        Entry(
            seq: seq, id: id(seq), device: device, cseq: seq, user: UserName("ann")!, at: now, sent: now, type: "chat.text",
            payload: .binary([UInt8](repeating: 1, count: 900)))
    }
}
