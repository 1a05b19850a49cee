import Foundation
import HoldfastHub
import RoomCore
import RoomsStorage
import Testing

/// A disk that fails to write or read.
struct LogFailureTests {
    let room = LogSample.room
    let bench = LogBench()
    /// Makes the write of one entry fail.
    let refusing = "CREATE TRIGGER refusing BEFORE INSERT ON entries WHEN NEW.cseq = 3 BEGIN SELECT RAISE(ABORT, 'refused'); END"

    @Test func `a failed transaction leaves nothing in any room, and health is red`() async throws {
        let log = try await bench.open()
        let other = LogSample.otherRoom
        _ = await log.carryOut([.open(room), .open(other), LogSample.append(1...1)])
        try LogBench.edit(bench.file, refusing)
        let replies = await log.carryOut([
            LogSample.append(1...2, to: other, batch: 7), LogSample.append(2...3, batch: 8), .recall(other, LogSample.device(1)),
            .open(RoomName("new")!), .fetchAfter(1, room, seq: 0, limit: 9, bytes: 99),
        ])
        #expect(
            replies == [
                .notAppended(other, batch: 7), .notAppended(room, batch: 8), .notRecalled(other, LogSample.device(1)),
                .notOpened(RoomName("new")!), .notFetched(1),
            ])
        guard case .failing(.failed) = await log.health else {
            Issue.record("health is green")
            return
        }
        #expect(await log.figures.failures == 1)
        #expect(await log.stored() == LogSample.entries(1...1))
        #expect(await log.stored(other).isEmpty)
        #expect(await log.head()?.head == 1)
        #expect(await log.head(other)?.head == 0)
        #expect(await log.carryOut([LogSample.append(1...2, to: other)]) == [.appended(other, batch: 1)])
    }

    @Test func `the next order after a failure is written`() async throws {
        let log = try await bench.open()
        _ = await log.carryOut([.open(room), LogSample.append(1...1)])
        try LogBench.edit(bench.file, refusing)
        #expect(await log.carryOut([LogSample.append(2...3, batch: 2)]) == [.notAppended(room, batch: 2)])
        #expect(await log.carryOut([LogSample.append(2...2, batch: 3)]) == [.appended(room, batch: 3)])
        #expect(await log.health == .healthy)
        #expect(await log.carryOut([LogSample.append(3...3, batch: 4)]) == [.notAppended(room, batch: 4)])
        try LogBench.edit(bench.file, "DROP TRIGGER refusing")
        #expect(await log.carryOut([LogSample.append(3...3, batch: 5)]) == [.appended(room, batch: 5)])
        #expect(await log.stored() == LogSample.entries(1...3))
        #expect(await log.carryOut([.recall(room, LogSample.device(1))]).count == 1)
    }

    @Test func `health turns green when the disk can be written again`() async throws {
        let log = try await bench.open()
        _ = await log.carryOut([.open(room), LogSample.append(1...2)])
        try LogBench.edit(bench.file, refusing)
        _ = await log.carryOut([LogSample.append(3...3)])
        #expect(await !log.health.isHealthy)
        _ = await log.tend(now: LogSample.now)
        #expect(await log.health == .healthy)
    }

    @Test func `a damaged room is refused, and the others go on`() async throws {
        let log = try await bench.open()
        let (other, device) = (LogSample.otherRoom, LogSample.device(1))
        _ = await log.carryOut([
            .open(room), .open(other), LogSample.append(1...2), LogSample.append(1...1, to: other), .mark(room, LogSample.bob, upTo: 1),
        ])
        await log.close()
        try LogBench.edit(bench.file, "UPDATE devices SET message = x'00' WHERE high = 2; UPDATE reads SET user = ''")
        let again = try await bench.open()
        let replies = await again.carryOut([
            .open(room), LogSample.append(3...3, batch: 2), .recall(room, device), LogSample.append(2...2, to: other, batch: 3),
        ])
        #expect(replies == [.notOpened(room), .notAppended(room, batch: 2), .notRecalled(room, device), .appended(other, batch: 3)])
        #expect(await again.health == .healthy)
        #expect(await again.stored(other) == LogSample.entries(1...2))
        // It is readable again as soon as the damage is undone.
        try LogBench.edit(bench.file, "UPDATE devices SET message = zeroblob(16) WHERE high = 2; UPDATE reads SET user = 'bob'")
        #expect(await again.head()?.head == 2)
        #expect(await again.carryOut([LogSample.append(3...3, batch: 4)]) == [.appended(room, batch: 4)])
    }

    @Test func `a room without writes is unchanged when another room's transaction fails`() async throws {
        let log = try await bench.open()
        let epoch = await log.head(LogSample.otherRoom)?.epoch
        _ = await log.carryOut([.open(room), LogSample.append(1...2)])
        try LogBench.edit(bench.file, refusing)
        _ = await log.carryOut([LogSample.append(3...3)])
        #expect(await log.carryOut([LogSample.append(1...1, to: LogSample.otherRoom)]) == [.appended(LogSample.otherRoom, batch: 1)])
        #expect(await log.head(LogSample.otherRoom)?.epoch == epoch)
    }

    @Test func `a room that cannot be read now is not reported as damaged`() async throws {
        let log = try await bench.open()
        _ = await log.carryOut([.open(room), .open(LogSample.otherRoom), LogSample.append(1...3)])
        let orders: [LogOrder] = [.fetchAfter(1, room, seq: 0, limit: 9, bytes: .max), .find(2, room, LogSample.device(1), cseq: 1)]
        #expect(await log.carryOut(orders).first == .fetched(1, LogSample.entries(1...3), base: 1))
        // SQLite has different errors for this and for damage. With the open connection, with another one, and in a transaction.
        try LogBench.edit(bench.file, "ALTER TABLE entries RENAME TO away")
        for _ in 1...2 { #expect(await log.carryOut(orders) == [.notFetched(1), .notFetched(2)]) }
        #expect(await log.carryOut(orders + [.open(room)]).prefix(2) == [.notFetched(1), .notFetched(2)])
        try LogBench.edit(bench.file, "ALTER TABLE away RENAME TO entries")
        #expect(await log.carryOut(orders).first == .fetched(1, LogSample.entries(1...3), base: 1))
    }

    @Test func `a damaged entry is not returned`() async throws {
        let log = try await bench.open()
        _ = await log.carryOut([.open(room), LogSample.append(1...3)])
        try LogBench.edit(bench.file, "UPDATE entries SET body = x'00' WHERE cseq = 2")
        #expect(await log.carryOut([.fetchAfter(1, room, seq: 0, limit: 9, bytes: .max)]) == [.notFetched(1, isDamaged: true)])
        #expect(await log.carryOut([.fetchAfter(1, room, seq: 2, limit: 9, bytes: .max)]) == [.fetched(1, [LogSample.entry(3)], base: 1)])
    }
}
