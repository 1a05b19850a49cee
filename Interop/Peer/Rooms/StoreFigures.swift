import Foundation
import HoldfastHub
import HoldfastRooms
import RoomCore

/// Measures both stores on the disk of a directory.
///
/// Every transaction waits for the disk.
struct StoreFigures {
    let directory: String
    private static let clock = ContinuousClock()
    private static let now: Int64 = 1_700_000_000_000

    func run() async throws {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        print("hub: publications of 120 bytes by 50 devices, each in the log and acked; a line is one size of transaction")
        for (group, rooms) in [(1, 1), (10, 1), (100, 1), (1000, 1), (1000, 10), (1000, 1000)] { try await hub(group: group, rooms: rooms) }
        print("client: a message into the outbox, or an entry with its cursor, in a transaction of its own")
        try await client()
    }

    private func hub(group: Int, rooms count: Int) async throws {
        let path = directory + "/figures-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let log = try await SQLiteRoomLog(directory: path)
        let rooms = (0..<count).compactMap { RoomName("room \($0)") }
        _ = await log.carryOut(rooms.map { .open($0) })
        var (heads, number) = ([Int64](repeating: 0, count: count), 0)
        func orders() -> [LogOrder] {
            var records = [[LogRecord]](repeating: [], count: count)
            for _ in 0..<group {
                let place = number % count
                heads[place] += 1
                records[place].append(.entry(entry(heads[place], device: UInt64(number / count % 50), cseq: heads[place])))
                number += 1
            }
            return zip(rooms, records).compactMap { $1.isEmpty ? nil : .append($0, batch: 1, $1) }
        }
        let before = await log.figures
        let start = Self.clock.now
        while Self.clock.now - start < .seconds(2) {
            for case .notAppended in await log.carryOut(orders()) { throw Violation("not appended: \(await log.health)") }
        }
        let (seconds, figures) = (Self.seconds(since: start), await log.figures)
        let (commits, records) = (figures.commits - before.commits, figures.records - before.records)
        let commit = Double(figures.commitTimes.total - before.commitTimes.total) / Double(commits)
        print(
            "  \(group) at a time, \(count) rooms: \(Int(Double(records) / seconds)) appends/s,",
            "\(Int(Double(commits) / seconds)) commits/s,",
            "\(Int(commit)) µs a commit, \(Int(commit / Double(group) * 100) / 100) µs an append,",
            "\(figures.fileBytes / Int64(max(records, 1))) bytes of file each")
        await log.close()
    }

    private func entry(_ seq: Int64, device: UInt64, cseq: Int64) -> Entry {
        Entry(
            seq: seq, id: MessageID(Bits128(high: 0x7000, low: UInt64(seq))), device: DeviceID(Bits128(high: 1, low: device)), cseq: cseq,
            user: UserName("ann")!, at: Self.now + seq, sent: Self.now, type: "chat.text",
            payload: .json([UInt8](repeating: 0x31, count: 120)))
    }

    private func client() async throws {
        let path = directory + "/figures-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let (store, room) = (try SQLiteRoomStore(path: path), RoomName("a")!)
        var next: Int64 = 0
        try await time("queued") {
            next += 1
            let id = MessageID(Bits128(high: 0x7000, low: UInt64(next)))
            let content = Publication.Content(type: "chat.text", payload: .json([UInt8](repeating: 0x31, count: 120)))
            let publication = Publication(cseq: next, id: id, sent: Self.now, content: content)
            try await store.commit([.queue(OutboxRow(room: room, publication: publication))])
            return 1
        }
        var seq: Int64 = 0
        for group: Int64 in [1, 100] {
            try await time("entries, \(group) at a time") {
                let entries = (seq + 1...seq + group).map { entry($0, device: 3, cseq: $0) }
                seq += group
                try await store.commit([.append(room, epoch: 7, entries)])
                return Int(group)
            }
        }
    }

    private func time(_ name: String, _ body: () async throws -> Int) async throws {
        let start = Self.clock.now
        var (commits, rows) = (0, 0)
        while Self.clock.now - start < .seconds(2) {
            rows += try await body()
            commits += 1
        }
        let seconds = Self.seconds(since: start)
        print("  \(name): \(Int(Double(commits) / seconds)) commits/s, \(Int(Double(rows) / seconds)) rows/s")
    }

    private static func seconds(since start: ContinuousClock.Instant) -> Double {
        let taken = (clock.now - start).components
        return Double(taken.seconds) + Double(taken.attoseconds) / 1e18
    }
}
