import Foundation
import RoomCore
import RoomsStorage
import Testing

@testable import HoldfastHub

/// Retention: how much of a room is kept.
struct LogRetentionTests {
    let room = LogSample.room
    let bench = LogBench()
    let day: Int64 = 86_400_000

    @Test func `the oldest entries over the count limit are removed`() async throws {
        let log = try await bench.open(RoomRetention(count: 10))
        _ = await log.carryOut([.open(room), LogSample.append(1...25)])
        #expect(await log.tendAll(now: LogSample.now) == [.trimmed(room, base: 16, below: LogSample.stamp(15))])
        #expect(await log.stored() == LogSample.entries(16...25))
        #expect(await log.head() == LogSample.head(epoch: log.head()?.epoch, head: 25, base: 16))
        #expect(
            await log.carryOut([.fetchBefore(1, room, seq: 18, limit: 9, bytes: .max)]) == [
                .fetched(1, LogSample.entries(16...17), base: 16, below: LogSample.stamp(15))
            ])
        #expect(await log.carryOut([.find(1, room, LogSample.device(1), cseq: 3)]) == [.found(1, nil)])
        #expect(await log.carryOut([LogSample.append(26...26)]) == [.appended(room, batch: 1)])
        #expect(await log.figures.trimmed == 15)
        let epoch = await log.head()?.epoch
        await log.close()
        #expect(try await bench.open().head() == LogSample.head(epoch: epoch, head: 26, base: 16))
    }

    @Test func `the stamp of the last removed entry is known for a room without entries`() async throws {
        let log = try await bench.open(RoomRetention(age: day))
        _ = await log.carryOut([.open(room), LogSample.append(1...8)])
        let later = LogSample.now + 2 * day
        #expect(await log.tendAll(now: later) == [.trimmed(room, base: 9, below: LogSample.stamp(8))])
        #expect(
            await log.carryOut([.fetchAfter(1, room, seq: 7, limit: 9, bytes: .max)]) == [
                .fetched(1, [], base: 9, below: LogSample.stamp(8))
            ])
        var expected = LogSample.head(epoch: await log.head()?.epoch, head: 8, base: 9)
        expected.last = 0
        #expect(await log.head() == expected)
        try await bench.kill(log)
        #expect(try await bench.open().head() == expected)
    }

    @Test func `a damaged entry that was removed has no stamp`() async throws {
        let log = try await bench.open(RoomRetention(count: 2))
        _ = await log.carryOut([.open(room), LogSample.append(1...5)])
        let changed = "CAST(substr(body, 1, 44) || x'7F' || substr(body, 46) AS BLOB)"
        try LogBench.edit(bench.file, "UPDATE entries SET body = \(changed) WHERE cseq = 3")
        #expect(await log.tendAll(now: LogSample.now) == [.trimmed(room, base: 4)])
        #expect(await log.head()?.below == nil)
        // The next removed entry has a stamp again.
        _ = await log.carryOut([LogSample.append(6...6, batch: 2)])
        #expect(await log.tendAll(now: LogSample.now) == [.trimmed(room, base: 5, below: LogSample.stamp(4))])
    }

    @Test func `the oldest entries over the byte limit are removed`() async throws {
        let log = try await bench.open(RoomRetention(bytes: 10_500))
        _ = await log.carryOut([.open(room), LogSample.append(1...20, size: 950)])
        _ = await log.tendAll(now: LogSample.now)
        let kept = await log.stored()
        try #require((9...11).contains(kept.count))
        #expect(kept == LogSample.entries((21 - Int64(kept.count))...20, size: 950))
    }

    @Test func `the oldest entries over the age limit are removed, in unused rooms too`() async throws {
        let log = try await bench.open(RoomRetention(age: 7 * day))
        let old = (1...5).map { LogRecord.entry(LogSample.entry($0, at: LogSample.now - 8 * day)) }
        let young = (6...8).map { LogRecord.entry(LogSample.entry($0, at: LogSample.now - 6 * day)) }
        let rooms = (1...200).map { RoomName("room \($0)")! }
        _ = await log.carryOut(rooms.flatMap { [.open($0), .append($0, batch: 1, old + young), .release($0)] })
        _ = await log.carryOut([.open(rooms[150])])
        let below = (LogSample.stamp(5, at: LogSample.now - 8 * day), LogSample.stamp(8, at: LogSample.now - 6 * day))
        #expect(await log.tendAll(now: LogSample.now) == [.trimmed(rooms[150], base: 6, below: below.0)], "only open rooms are reported")
        for room in rooms { #expect(await log.stored(room).map(\.seq) == [6, 7, 8]) }
        // The room is checked again after a while, and not at once.
        #expect(await log.tendAll(now: LogSample.now + 30_000).isEmpty)
        #expect(await log.tendAll(now: LogSample.now + 2 * day) == [.trimmed(rooms[150], base: 9, below: below.1)])
        #expect(await log.head(rooms[3])?.base == 9)
        #expect(await log.carryOut([.append(rooms[3], batch: 2, [.entry(LogSample.entry(9))])]) == [.appended(rooms[3], batch: 2)])
    }

    @Test func `a step removes a limited number of entries`() async throws {
        let log = try await bench.open(RoomRetention(count: 1))
        _ = await log.carryOut([.open(room), LogSample.append(1...3500)])
        var steps: [Int] = []
        while true {
            let before = await log.figures.trimmed
            let care = await log.tend(now: LogSample.now)
            steps.append(await log.figures.trimmed - before)
            if !care.hasMore { break }
        }
        #expect(steps.reduce(0, +) == 3499)
        #expect(steps.allSatisfy { $0 <= 1000 })
        #expect(await log.stored() == LogSample.entries(3500...3500))
    }

    @Test func `the space of removed entries is returned to the disk`() async throws {
        let log = try await bench.open(RoomRetention(count: 10))
        _ = await log.carryOut([.open(room), LogSample.append(1...9000, size: 1500)])
        await log.close()
        let again = try await bench.open(RoomRetention(count: 10))
        let before = await again.figures.fileBytes
        for second: Int64 in 0..<60 { _ = await again.tendAll(now: LogSample.now + second * 1000) }
        await again.close()
        let size = try #require(try FileManager.default.attributesOfItem(atPath: bench.file)[.size] as? Int64)
        #expect(before > 9000 * 1500)
        #expect(size < before / 2)
    }

    @Test func `a device is forgotten when all its messages are too old to be accepted`() async throws {
        let log = try await bench.open(RoomRetention(devices: day))
        let (silent, busy) = (LogSample.device(1), LogSample.device(2))
        _ = await log.carryOut([.open(room), .append(room, batch: 1, [.entry(LogSample.entry(1)), .entry(LogSample.entry(2, device: 2))])])
        let later = LogSample.now + 80 * day
        _ = await log.carryOut([.append(room, batch: 2, [.entry(LogSample.entry(3, device: 2, at: later))])])
        _ = await log.tendAll(now: LogSample.now + 90 * day + 3_600_000)
        #expect(await log.figures.forgotten == 0, "the device is remembered for at least the protocol's window and an hour of clock error")
        _ = await log.tendAll(now: LogSample.now + 90 * day + 3_700_000)
        #expect(await log.figures.forgotten == 1)
        #expect(await log.carryOut([.recall(room, silent)]) == [.recalled(room, silent, nil)])
        let mark = DeviceMark(high: 3, id: LogSample.id(3), user: LogSample.bob, at: later)
        #expect(await log.carryOut([.recall(room, busy)]) == [.recalled(room, busy, mark)])
        // Its entries stay, and it may come back. Its earlier messages are then not found under their numbers.
        #expect(await log.carryOut([.append(room, batch: 3, [.entry(LogSample.entry(4, cseq: 1))])]) == [.appended(room, batch: 3)])
        #expect(await log.carryOut([.find(1, room, silent, cseq: 1)]) == [.found(1, FoundEntry(LogSample.entry(4, cseq: 1)))])
        #expect(await log.stored().map(\.seq) == [1, 2, 3, 4])
    }

    @Test func `the IDs of server publications are forgotten after a day`() async throws {
        let log = try await bench.open()
        // Those of earlier versions have the ID of their publication.
        let (name, client) = (log.names.device(for: LogSample.id(9), of: LogSample.ann, program: "key"), LogSample.device(2))
        let earlier = DeviceID(LogSample.id(1).bits)
        var entries = [LogSample.entry(1, cseq: 1), LogSample.entry(2, device: 2), LogSample.entry(3, cseq: 1)]
        (entries[0].device, entries[2].device) = (earlier, name)
        _ = await log.carryOut([.open(room), .append(room, batch: 1, entries.map { .entry($0) })])
        _ = await log.tendAll(now: LogSample.now + day)
        #expect(await log.figures.forgotten == 0)
        _ = await log.tendAll(now: LogSample.now + day + 61_000)
        #expect(await log.figures.forgotten == 2)
        for device in [name, earlier] { #expect(await log.carryOut([.recall(room, device)]) == [.recalled(room, device, nil)]) }
        #expect(await log.carryOut([.recall(room, client)]) != [.recalled(room, client, nil)])
    }

    // MARK: Clocks

    @Test func `a hub that starts with a clock far ahead forgets nothing`() async throws {
        let retention = RoomRetention(age: 30 * day)
        for ahead in [20, 100, 4000] as [Int64] {
            let bench = LogBench()
            let log = try await bench.open(retention)
            _ = await log.carryOut([.open(room), LogSample.append(1...3)])
            _ = await log.tendAll(now: LogSample.now)
            await log.close()
            // This holds for any number of starts.
            for number in 0..<3 as Range<Int64> {
                let again = try await bench.open(retention)
                let start = LogSample.now + ahead * day
                for second: Int64 in 0...120 { _ = await again.tend(now: start + second * 1000, ran: second * 1000) }
                #expect(await again.figures.forgotten == 0)
                #expect(await again.figures.doubt == (ahead > 30 ? .ahead(ahead * day - 120_000 * number) : nil))
                #expect(await again.stored().count == 3)
                await again.close()
            }
        }
    }

    @Test func `a clock that jumps ahead while the hub runs makes nothing too old`() async throws {
        let log = try await bench.open(RoomRetention(age: 2 * day))
        _ = await log.carryOut([.open(room), LogSample.append(1...3)])
        _ = await log.tend(now: LogSample.now, ran: 0)
        _ = await log.tend(now: LogSample.now + 29 * day, ran: 61_000)
        _ = await log.tend(now: LogSample.now + 200 * day, ran: 122_000)
        #expect(await log.figures.forgotten + log.figures.trimmed == 0)
        guard case .ahead = await log.figures.doubt else {
            Issue.record("the clock is trusted")
            return
        }
        // Count limits apply all the same.
        await log.close()
        let again = try await bench.open(RoomRetention(count: 1))
        #expect(await again.tend(now: LogSample.now + 300 * day, ran: 0).replies.isEmpty)
        #expect(await again.figures.trimmed == 2)
    }

    @Test func `a clock that is behind is reported, and the log's time stands still until it is right`() async throws {
        let log = try await bench.open()
        _ = await log.carryOut([.open(room), LogSample.append(1...1)])
        _ = await log.tend(now: LogSample.now - day, ran: 0)
        _ = await log.tend(now: LogSample.now, ran: day)
        await log.close()
        let again = try await bench.open()
        #expect(again.opening.time == LogSample.now)
        let care = await again.tend(now: LogSample.now - 5 * day, ran: 0)
        #expect(care.doubt == .behind(5 * day) && care.time == LogSample.now)
        let right = await again.tend(now: LogSample.now + 2000, ran: 1000)
        #expect(right.doubt == nil && right.time == LogSample.now + 1000)
    }

    @Test func `a new log whose first clock was far ahead follows a correction back, without remains`() async throws {
        for holdsSomething in [false, true] {
            let bench = LogBench()
            let log = try await bench.open()
            // The entry gets the time of the clock.
            let entry = LogRecord.entry(LogSample.entry(1, at: LogSample.now + 400 * day))
            if holdsSomething { _ = await log.carryOut([.open(room), .append(room, batch: 1, [entry])]) }
            #expect(await log.tend(now: LogSample.now + 400 * day, ran: 0).time == LogSample.now + 400 * day)
            await log.close()
            let again = try await bench.open()
            let care = await again.tend(now: LogSample.now, ran: 0)
            #expect(care.doubt == nil && care.time == LogSample.now)
            // The log's time jumps forward at once only while nothing is stored.
            let later = await again.tend(now: LogSample.now + 20 * day, ran: 1000)
            #expect(later.time == LogSample.now + (holdsSomething ? 1000 : 20 * day))
            await again.close()
        }
    }

    @Test func `the time of a log that has forgotten something never goes back`() async throws {
        let log = try await bench.open()
        _ = await log.carryOut([.open(room), .append(room, batch: 1, [.entry(LogSample.entry(1, at: LogSample.now - 100 * day))])])
        #expect(await log.tend(now: LogSample.now, ran: 0).time == LogSample.now)
        #expect(await log.figures.forgotten == 1)
        #expect(await log.tend(now: LogSample.now - 50 * day, ran: 1000).time == LogSample.now)
        try await bench.kill(log)
        let again = try await bench.open()
        #expect(await again.tend(now: LogSample.now - 50 * day, ran: 0).time == LogSample.now)
        await again.close()
    }

    @Test func `a week of doubt and two days of a steady clock are counted over restarts`() async throws {
        let log = try await bench.open()
        _ = await log.carryOut([.open(room), LogSample.append(1...1)])
        _ = await log.tend(now: LogSample.now - 2 * day, ran: 0)
        _ = await log.tend(now: LogSample.now, ran: 2 * day)
        await log.close()
        let later = LogSample.now + 400 * day
        var care = LogCare()
        for number in 0..<9 as Range<Int64> {
            let again = try await bench.open()
            _ = await again.tend(now: later + number * day, ran: 0)
            care = await again.tend(now: later + (number + 1) * day, ran: day)
            #expect((care.doubt == nil) == (number >= 6))
            await again.close()
        }
        // It moves a day when it is trusted, an hour and a day with each start, and then 60 days at once.
        #expect(care.time == LogSample.now + 63 * day + 2 * 3_600_000)
    }

    @Test func `the log's time is on disk after ten minutes, and when the log is closed`() async throws {
        let log = try await bench.open()
        _ = await log.tend(now: LogSample.now, ran: 0)
        _ = await log.tend(now: LogSample.now + 660_000, ran: 660_000)
        try await bench.kill(log)
        let again = try await bench.open()
        #expect(again.opening.time == LogSample.now + 660_000)
        _ = await again.tend(now: LogSample.now + 700_000, ran: 0)
        await again.close()
        #expect(try await bench.open().opening.time == LogSample.now + 700_000)
    }

    @Test func `a log of a version without a log time continues from its last publication`() async throws {
        let log = try await bench.open()
        _ = await log.carryOut([.open(room), .append(room, batch: 1, [.entry(LogSample.entry(1, at: LogSample.now - 3 * day))])])
        await log.close()
        try LogBench.edit(bench.file, "DELETE FROM meta WHERE name IN ('time', 'expected')")
        let again = try await bench.open()
        #expect(again.opening.time == LogSample.now - 3 * day)
        let care = await again.tend(now: LogSample.now, ran: 0)
        #expect(care.doubt == nil && care.time == LogSample.now - 3 * day + 3_600_000)
    }

    @Test func `an opened room reports when its last entry was stored`() async throws {
        let log = try await bench.open()
        #expect(await log.head()?.last == 0)
        _ = await log.carryOut([.append(room, batch: 1, [1, 2].map { .entry(LogSample.entry($0, at: LogSample.now + $0)) })])
        #expect(await log.head()?.last == LogSample.now + 2)
        await log.close()
        #expect(try await bench.open().head()?.last == LogSample.now + 2)
    }
}
