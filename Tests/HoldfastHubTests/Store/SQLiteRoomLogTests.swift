import Foundation
import HoldfastHub
import RoomCore
import RoomsStorage
import Testing

/// The orders of a hub to its log, and their results on disk.
struct SQLiteRoomLogTests {
    let room = LogSample.room
    let bench = LogBench()

    @Test func `a room keeps its epoch once something was written in it`() async throws {
        let log = try await bench.open()
        let head = try #require(await log.head())
        #expect(head.epoch != 0)
        #expect((head.head, head.base) == (0, 1))
        #expect(await log.head() == head)
        #expect(await log.head(LogSample.otherRoom)?.epoch != head.epoch)
        _ = await log.carryOut([LogSample.append(1...1)])
        await log.close()
        #expect(try await bench.open().head() == LogSample.head(epoch: head.epoch, head: 1))
    }

    @Test func `appended entries are there when the log is opened again`() async throws {
        let log = try await bench.open()
        let epoch = await log.head()?.epoch
        #expect(await log.carryOut([LogSample.append(1...3)]) == [.appended(room, batch: 1)])
        #expect(await log.carryOut([LogSample.append(4...4, batch: 2)]) == [.appended(room, batch: 2)])
        await log.close()
        let again = try await bench.open()
        #expect(await again.head() == LogSample.head(epoch: epoch, head: 4))
        #expect(await again.stored() == LogSample.entries(1...4))
    }

    @Test func `an entry is stored unchanged`() async throws {
        let log = try await bench.open()
        var entry = LogSample.entry(1)
        entry.about = Reference(kind: "react", seq: 1 << 52)
        (entry.isAdmin, entry.sent, entry.payload) = (true, entry.at + 99_000, .binary([UInt8](0...255)))
        entry.user = UserName("Zoë 👩‍🚀")!
        _ = await log.carryOut([.open(room), .append(room, batch: 1, [.entry(entry)])])
        #expect(await log.stored() == [entry])
    }

    @Test func `all appends of a call are one transaction`() async throws {
        let log = try await bench.open()
        let rooms = (1...20).map { RoomName("room \($0)")! }
        _ = await log.carryOut(rooms.map { .open($0) })
        let before = await log.figures
        let replies = await log.carryOut(rooms.map { LogSample.append(1...5, to: $0) })
        #expect(replies == rooms.map { .appended($0, batch: 1) })
        let after = await log.figures
        #expect(after.commits == before.commits + 1)
        #expect(after.records == before.records + 100)
        #expect(after.commitTimes.counts.reduce(0, +) == after.commits)
        #expect(after.openRooms == 20)
        #expect(after.fileBytes > 0)
    }

    @Test func `the orders of a room are carried out and answered in order`() async throws {
        let log = try await bench.open()
        let device = LogSample.device(1)
        let replies = await log.carryOut([
            .open(room), .recall(room, device), .fetchAfter(1, room, seq: 0, limit: 9, bytes: .max), LogSample.append(1...1),
            .recall(room, device), .fetchAfter(2, room, seq: 0, limit: 9, bytes: .max), LogSample.append(2...2, batch: 2),
            .find(3, room, device, cseq: 1), .fetchBefore(4, room, seq: 9, limit: 9, bytes: .max), .release(room),
        ])
        guard case .opened(room, _)? = replies.first else {
            Issue.record("\(replies)")
            return
        }
        let mark = DeviceMark(high: 1, id: LogSample.id(1), user: LogSample.ann, at: LogSample.now)
        #expect(
            Array(replies.dropFirst()) == [
                .recalled(room, device, nil), .fetched(1, [], base: 1), .appended(room, batch: 1), .recalled(room, device, mark),
                .fetched(2, LogSample.entries(1...1), base: 1), .appended(room, batch: 2), .found(3, FoundEntry(LogSample.entry(1))),
                .fetched(4, LogSample.entries(1...2), base: 1),
            ])
    }

    @Test func `a read beside another room's append keeps its place in the answers`() async throws {
        let log = try await bench.open()
        let other = LogSample.otherRoom
        _ = await log.carryOut([.open(room), .open(other), LogSample.append(1...2, to: other)])
        let replies = await log.carryOut([
            .fetchAfter(1, other, seq: 0, limit: 9, bytes: .max), LogSample.append(1...1), .recall(other, LogSample.device(9)),
            LogSample.append(2...2, batch: 2), .find(2, other, LogSample.device(1), cseq: 2),
        ])
        #expect(
            replies == [
                .fetched(1, LogSample.entries(1...2), base: 1), .appended(room, batch: 1), .recalled(other, LogSample.device(9), nil),
                .appended(room, batch: 2), .found(2, FoundEntry(LogSample.entry(2))),
            ])
    }

    @Test func `pages have the requested number of entries and bytes, and at least one entry`() async throws {
        let log = try await bench.open()
        _ = await log.carryOut([.open(room), LogSample.append(1...9, size: 1000)])
        func after(_ seq: Int64, _ limit: Int64, _ bytes: Int64) async -> [Int64] {
            guard
                case .fetched(1, let page, base: 1, _)? = await log.carryOut([.fetchAfter(1, room, seq: seq, limit: limit, bytes: bytes)])
                    .first
            else { return [] }
            return page.map(\.seq)
        }
        func before(_ seq: Int64, _ limit: Int64, _ bytes: Int64) async -> [Int64] {
            guard
                case .fetched(1, let page, base: 1, _)? = await log.carryOut([.fetchBefore(1, room, seq: seq, limit: limit, bytes: bytes)])
                    .first
            else { return [] }
            return page.map(\.seq)
        }
        #expect(await after(2, 3, .max) == [3, 4, 5])
        #expect(await after(2, 9, 3500) == [3, 4, 5])
        #expect(await after(2, 9, 1) == [3])
        #expect(await after(9, 9, .max) == [])
        #expect(await after(.max, 9, .max) == [])
        #expect(await after(.min, 1, .max) == [1])
        #expect(await before(7, 3, .max) == [4, 5, 6])
        #expect(await before(7, 9, 3500) == [4, 5, 6])
        #expect(await before(7, 9, 1) == [6])
        #expect(await before(.max, 2, .max) == [8, 9])
        #expect(await before(1, 2, .max) == [])
        #expect(await before(.min, 2, .max) == [])
        #expect(await after(1, -1, .max) == [])
    }

    @Test func `a room that was never opened has no pages`() async throws {
        let log = try await bench.open()
        #expect(
            await log.carryOut([.fetchAfter(1, room, seq: 0, limit: 1, bytes: 1), .fetchBefore(2, room, seq: 0, limit: 1, bytes: 1)])
                == [.fetched(1, [], base: 1), .fetched(2, [], base: 1)])
        #expect(await log.carryOut([LogSample.append(1...1)]) == [.notAppended(room, batch: 1)])
    }

    @Test func `a device's mark rises with its entries and its voids`() async throws {
        let log = try await bench.open()
        let device = LogSample.device(1)
        _ = await log.carryOut([.open(room), LogSample.append(1...2)])
        let voided = LogRecord.void(device, LogSample.ann, cseq: 3, id: LogSample.id(77), at: LogSample.now + 9)
        #expect(await log.carryOut([.append(room, batch: 2, [voided])]) == [.appended(room, batch: 2)])
        let mark = DeviceMark(high: 3, id: LogSample.id(77), user: LogSample.ann, at: LogSample.now + 9)
        #expect(await log.carryOut([.recall(room, device)]) == [.recalled(room, device, mark)])
        #expect(await log.head()?.head == 2, "a voided number is no entry")
        #expect(await log.carryOut([.find(1, room, device, cseq: 3)]) == [.found(1, nil)])
        #expect(await log.carryOut([.find(1, room, device, cseq: 2)]) == [.found(1, FoundEntry(LogSample.entry(2)))])
    }

    @Test func `the entry under a number is found by its header alone, however long it is`() async throws {
        let log = try await bench.open()
        _ = await log.carryOut([.open(room), LogSample.append(1...2, size: 60_000)])
        await log.close()
        // A payload damaged on disk does not prevent its ack. A header of another device does.
        try LogBench.edit(
            bench.file, "UPDATE entries SET body = CAST(substr(body, 1, 59000) || x'00' || substr(body, 59002) AS BLOB)")
        let again = try await bench.open()
        let device = LogSample.device(1)
        #expect(
            await again.carryOut([.find(1, room, device, cseq: 2), .fetchAfter(2, room, seq: 1, limit: 1, bytes: .max)])
                == [.found(1, FoundEntry(LogSample.entry(2))), .notFetched(2, isDamaged: true)])
        await again.close()
        try LogBench.edit(bench.file, "UPDATE entries SET body = zeroblob(60000)")
        #expect(await (try bench.open()).carryOut([.find(1, room, device, cseq: 2)]) == [.notFetched(1, isDamaged: true)])
    }

    @Test func `a device that published in one room is known in all`() async throws {
        let log = try await bench.open()
        let (other, device) = (LogSample.otherRoom, LogSample.device(1))
        _ = await log.carryOut([.open(room), .open(other)])
        let known = LogReply.recalled(
            other, device, DeviceMark(high: 0, id: MessageID(Bits128(high: 0, low: 0)), user: LogSample.ann, at: LogSample.now))
        // In the transaction of an append, and by read-only connections.
        #expect(await log.carryOut([LogSample.append(1...1), .open(other), .recall(other, device)]).last == known)
        #expect(await log.carryOut([.recall(other, device)]) == [known])
        let (new, unknown) = (RoomName("new")!, LogSample.device(2))
        #expect(await log.carryOut([.recall(new, unknown)]) == [.recalled(new, unknown, nil)])
        let stranger = LogRecord.entry(LogSample.entry(1, device: 2))
        _ = await log.carryOut([.append(other, batch: 2, [stranger])])
        #expect(await log.carryOut([.recall(other, device)]) == [known])
    }

    @Test func `a device of one user is not appended for another, in any room`() async throws {
        let log = try await bench.open()
        let (other, device) = (LogSample.otherRoom, LogSample.device(1))
        _ = await log.carryOut([.open(room), .open(other)])
        func void(by user: UserName, batch: Int64) -> LogOrder {
            .append(other, batch: batch, [.void(device, user, cseq: 1, id: LogSample.id(9), at: LogSample.now)])
        }
        // Within one transaction, and after it.
        let replies = await log.carryOut([LogSample.append(1...1), void(by: LogSample.bob, batch: 2)])
        #expect(replies == [.appended(room, batch: 1), .notAppended(other, batch: 2)])
        #expect(await log.carryOut([void(by: LogSample.bob, batch: 3)]) == [.notAppended(other, batch: 3)])
        #expect(await log.carryOut([void(by: LogSample.ann, batch: 4)]) == [.appended(other, batch: 4)])
    }

    @Test func `a room without writes leaves nothing on disk`() async throws {
        let log = try await bench.open()
        let commits = await log.figures.commits
        let epoch = await log.head()?.epoch
        #expect(await log.head()?.epoch == epoch && epoch != 0, "it stays the same while the room is open")
        _ = await log.carryOut([.release(room)])
        #expect(await log.figures.commits == commits)
        _ = await log.head(LogSample.otherRoom)
        await #expect(throws: RoomLogError.noRoom("def")) { try await log.history(LogSample.otherRoom, before: 9, limit: 9, bytes: 9) }
        let last = await log.head()?.epoch
        #expect(await log.carryOut([LogSample.append(1...1)]) == [.appended(room, batch: 1)])
        await log.close()
        #expect(try await bench.open().head()?.epoch == last)
    }

    @Test func `when there are too many rooms, existing rooms go on`() async throws {
        let log = try await bench.open()
        _ = await log.carryOut([.open(room), .open(LogSample.otherRoom), LogSample.append(1...1)])
        try LogBench.edit(bench.file, "INSERT INTO rooms VALUES (\((1 << 23) - 1), 'last', 1, 0, 1, 0, NULL)")
        #expect(
            await log.carryOut([LogSample.append(1...1, to: LogSample.otherRoom, batch: 2), LogSample.append(2...2, batch: 3)])
                == [.notAppended(LogSample.otherRoom, batch: 2), .appended(room, batch: 3)])
        #expect(await log.health == .healthy)
        await #expect(throws: RoomLogError.noRoom("def")) { try await log.history(LogSample.otherRoom, before: 9, limit: 9, bytes: 9) }
    }

    @Test func `the history of a room is read without opening it`() async throws {
        let log = try await bench.open()
        _ = await log.carryOut([.open(room), LogSample.append(1...9), .release(room)])
        let open = await log.figures.openRooms
        let page = try await log.history(room, before: 6, limit: 3, bytes: .max)
        #expect(page.entries == LogSample.entries(3...5) && page.head.head == 9 && page.head.base == 1)
        #expect(await log.figures.openRooms == open)
    }

    @Test func `many devices in one transaction all keep their marks`() async throws {
        let log = try await bench.open()
        let count: Int64 = 3000
        let records = (1...count).map { LogRecord.entry(LogSample.entry($0, device: UInt64($0), cseq: 5)) }
        _ = await log.carryOut([.open(room), .append(room, batch: 1, records)])
        let more = (1...count).map { LogRecord.entry(LogSample.entry(count + $0, device: UInt64($0), cseq: 6)) }
        #expect(await log.carryOut([.append(room, batch: 2, more)]) == [.appended(room, batch: 2)])
        await log.close()
        let again = try await bench.open()
        let replies = await again.carryOut((1...count).map { .recall(room, LogSample.device(UInt64($0))) })
        let highs = replies.map { reply -> Int64 in if case .recalled(_, _, let mark?) = reply { mark.high } else { 0 } }
        #expect(highs == [Int64](repeating: 6, count: Int(count)))
    }

    static let strange: [(String, [LogRecord])] = [
        ("a gap", [.entry(LogSample.entry(4))]), ("a number twice", [.entry(LogSample.entry(2, cseq: 9))]),
        ("a gap within", [.entry(LogSample.entry(3)), .entry(LogSample.entry(5))]),
        ("a device's number again", [.entry(LogSample.entry(3, cseq: 2))]),
        ("a device's number again, within", [.entry(LogSample.entry(3, cseq: 3)), .entry(LogSample.entry(4, cseq: 3))]),
        ("a voided number again", [.void(LogSample.device(1), LogSample.ann, cseq: 2, id: LogSample.id(1), at: 0)]),
    ]

    @Test(arguments: strange.indices)
    func `an append that does not follow is refused, and the rest of the call is written`(index: Int) async throws {
        let log = try await bench.open()
        _ = await log.carryOut([.open(room), LogSample.append(1...2), .open(LogSample.otherRoom)])
        let replies = await log.carryOut([
            .append(room, batch: 2, Self.strange[index].1), LogSample.append(1...1, to: LogSample.otherRoom, batch: 3),
        ])
        #expect(replies == [.notAppended(room, batch: 2), .appended(LogSample.otherRoom, batch: 3)], "\(Self.strange[index].0)")
        #expect(await log.stored() == LogSample.entries(1...2))
        #expect(await log.carryOut([LogSample.append(3...3, batch: 4)]) == [.appended(room, batch: 4)])
    }

    @Test func `read markers never move back, and are stored`() async throws {
        let log = try await bench.open()
        _ = await log.carryOut([.open(room), LogSample.append(1...9)])
        #expect(await log.carryOut([.mark(room, LogSample.bob, upTo: 4), .mark(room, LogSample.ann, upTo: 7)]).isEmpty)
        _ = await log.carryOut([.mark(room, LogSample.ann, upTo: 5)])
        let reads = [HubFrame.ReadMarker(user: LogSample.ann, seq: 7), HubFrame.ReadMarker(user: LogSample.bob, seq: 4)]
        #expect(await log.head()?.reads == reads, "markers that wait for the next transaction are included")
        let commits = await log.figures.commits
        _ = await log.tend(now: LogSample.now)
        #expect(await log.figures.commits == commits + 1)
        _ = await log.carryOut([.mark(room, LogSample.ann, upTo: 6)])
        await log.close()
        #expect(try await bench.open().head()?.reads == reads)
    }

    @Test func `read markers wait for a transaction, but only for a limited time`() async throws {
        let log = try await bench.open()
        _ = await log.carryOut([.open(room)])
        let commits = await log.figures.commits
        for number in 1...5000 { _ = await log.carryOut([.mark(room, UserName("user \(number)")!, upTo: 1)]) }
        #expect(await log.figures.commits == commits + 1)
    }
}
