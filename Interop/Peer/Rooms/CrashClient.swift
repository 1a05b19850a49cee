import Foundation
import HoldfastRooms
import HoldfastTesting
import RoomCore
import RoomsStorage

/// A client's store that is opened after a crash, checked, and used until the next crash.
///
/// The hub beside it only writes lines.
struct CrashClient {
    let directory: String
    let crash: Crash
    private static let room = RoomName("a")!
    private static let other = DeviceID(Bits128(high: 9, low: 9))
    private static let epoch: UInt64 = 77
    private static let now: Int64 = 1_700_000_000_000
    private static let kept = 40

    func run() async throws {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let journal = try CrashJournal(directory + "/told")
        let log = try CrashJournal(directory + "/hub")
        let store = try SQLiteRoomStore(path: directory + "/store", entriesPerRoom: Self.kept, hook: crash.hook)
        let device = try await store.device()
        var hub = try entries(log)
        try await check(store, device, hub, journal)
        try await use(store, device, &hub, log, journal)
        throw Violation("\(crash.point.rawValue) was not passed \(crash.pass) times")
    }

    /// The entries of the hub, one `DEVICE CSEQ` per line.
    private func entries(_ log: CrashJournal) throws -> [Entry] {
        try log.lines.enumerated().map { index, line in
            guard line.count == 2, let device = DeviceID(line[0]), let cseq = Int64(line[1]) else {
                throw Violation("the hub says \(line)")
            }
            return Self.entry(Int64(index + 1), device, cseq)
        }
    }

    private func check(_ store: SQLiteRoomStore, _ device: DeviceID, _ hub: [Entry], _ journal: CrashJournal) async throws {
        let stored = try await store.room(Self.room)
        let own = hub.filter { $0.device == device }
        try demand(own.map(\.cseq) == Array(1..<Int64(own.count + 1)), "the hub took \(own.map(\.cseq))")
        let waiting = stored.outbox.map(\.publication.cseq)
        // Every number that was given is in the outbox or at the hub, and no other number is.
        let given = Set(waiting).union(own.map(\.cseq))
        try demand(given == Set(1..<stored.next), "the next is \(stored.next), \(given.sorted()) are there")
        for row in stored.outbox { try demand(row == Self.row(row.publication.cseq), "message \(row.publication.cseq) has changed") }
        for line in journal.lines {
            guard let number = Int64(line[1]) else { throw Violation("the journal says \(line)") }
            switch line[0] {
            case "queued": try demand(number < stored.next, "message \(number) was queued, and never was")
            case "cursor": try demand(number <= stored.cursor.seq, "the cursor was at \(number), is at \(stored.cursor.seq)")
            case "read": try demand(number <= stored.read, "the marker was at \(number), is at \(stored.read)")
            default: throw Violation("the journal says \(line)")
            }
        }
        // The stored entries are a part of the hub's log that ends at the cursor.
        let entries = try await store.entries(Self.room, before: nil, limit: .max)
        try demand(stored.cursor.seq <= hub.count, "the cursor is at \(stored.cursor.seq), the hub at \(hub.count)")
        let piece = hub[Int(stored.first - 1)..<Int(stored.cursor.seq)]
        try demand(entries == Array(piece), "\(entries.map(\.seq)) are stored, not \(piece.map(\.seq))")
        // An own entry that is stored is no longer in the outbox.
        let arrived = Set(entries.filter { $0.device == device }.map(\.cseq))
        try demand(arrived.isDisjoint(with: waiting), "\(arrived.intersection(waiting)) arrived, and wait still")
    }

    private func use(
        _ store: SQLiteRoomStore, _ device: DeviceID, _ hub: inout [Entry], _ log: CrashJournal, _ journal: CrashJournal
    ) async throws {
        var chance = SeededGenerator(seed: crash.seed)
        var others = Int64(hub.count { $0.device == Self.other })
        for _ in 0..<300 {
            switch Int.random(in: 0..<6, using: &chance) {
            case 0, 1:
                let next = try await store.room(Self.room).next
                let count = Int64.random(in: 1...3, using: &chance)
                try await store.commit((next..<next + count).map { .queue(Self.row($0)) })
                try journal.add("queued", next + count - 1)
            case 2:
                // The hub takes the missing messages in order. The ack is lost.
                let high = Int64(hub.count { $0.device == device })
                for row in try await store.room(Self.room).outbox where row.publication.cseq > high {
                    try log.add(device, row.publication.cseq)
                    hub.append(Self.entry(Int64(hub.count + 1), device, row.publication.cseq))
                }
            case 3:
                others += 1
                try log.add(Self.other, others)
                hub.append(Self.entry(Int64(hub.count + 1), Self.other, others))
            default: try await receive(store, device, hub, journal, &chance)
            }
        }
    }

    /// Stores entries, the cursor, the outbox and the marker in one transaction.
    private func receive(
        _ store: SQLiteRoomStore, _ device: DeviceID, _ hub: [Entry], _ journal: CrashJournal, _ chance: inout SeededGenerator
    ) async throws {
        let cursor = try await store.room(Self.room).cursor.seq
        let isSnapshot = Int.random(in: 0..<6, using: &chance) == 0
        let first = isSnapshot ? max(0, hub.count - 5) : Int(cursor)
        let items = Array(hub[first..<(isSnapshot ? hub.count : min(hub.count, first + Int.random(in: 1...6, using: &chance)))])
        guard let last = items.last else { return }
        // After a snapshot the hub's mark tells which messages it has.
        let own = isSnapshot ? hub.filter { $0.device == device } : items.filter { $0.device == device }
        var changes: [StoreChange] = [
            isSnapshot
                ? .replace(Self.room, cursor: LogPosition(epoch: Self.epoch, seq: last.seq), items)
                : .append(Self.room, epoch: Self.epoch, items)
        ]
        changes += own.map { .remove(Self.room, cseq: $0.cseq) }
        changes.append(.read(Self.room, upTo: last.seq))
        try await store.commit(changes)
        try journal.add("cursor", last.seq)
        try journal.add("read", last.seq)
    }

    private static func row(_ cseq: Int64) -> OutboxRow {
        let content = Publication.Content(type: "chat.text", payload: .json([UInt8](repeating: 0x31, count: Int(cseq % 700) + 1)))
        let id = MessageID(Bits128(high: 0x7000, low: UInt64(cseq)))
        return OutboxRow(room: room, publication: Publication(cseq: cseq, id: id, sent: now + cseq, content: content))
    }

    private static func entry(_ seq: Int64, _ device: DeviceID, _ cseq: Int64) -> Entry {
        Entry(
            seq: seq, id: MessageID(Bits128(high: 0x7000, low: UInt64(cseq))), device: device, cseq: cseq, user: UserName("ann")!, at: now,
            sent: now + cseq, type: "chat.text", payload: .json([UInt8](repeating: 0x31, count: Int(cseq % 700) + 1)))
    }
}
