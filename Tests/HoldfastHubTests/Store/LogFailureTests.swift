import Foundation
import HoldfastHub
import RoomCore
import RoomsStorage
import Testing

/// A disk that does not take what it should.
struct LogFailureTests {
    let room = LogSample.room
    let bench = LogBench()
    /// As if the disk failed at one entry.
    let refusing = "CREATE TRIGGER refusing BEFORE INSERT ON entries WHEN NEW.cseq = 3 BEGIN SELECT RAISE(ABORT, 'refused'); END"

    @Test func `a transaction that fails leaves nothing of any room, and health is red`() async throws {
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

    @Test func `the next order tries again`() async throws {
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

    @Test func `health turns green by itself when the disk can be written again`() async throws {
        let log = try await bench.open()
        _ = await log.carryOut([.open(room), LogSample.append(1...2)])
        try LogBench.edit(bench.file, refusing)
        _ = await log.carryOut([LogSample.append(3...3)])
        #expect(await !log.health.isHealthy)
        _ = await log.tend(now: LogSample.now)
        #expect(await log.health == .healthy)
    }

    @Test func `an entry that is damaged is not handed out`() async throws {
        let log = try await bench.open()
        _ = await log.carryOut([.open(room), LogSample.append(1...3)])
        try LogBench.edit(bench.file, "UPDATE entries SET body = x'00' WHERE cseq = 2")
        #expect(await log.carryOut([.fetchAfter(1, room, seq: 0, limit: 9, bytes: .max)]) == [.notFetched(1)])
        #expect(await log.carryOut([.fetchAfter(1, room, seq: 2, limit: 9, bytes: .max)]) == [.fetched(1, [LogSample.entry(3)], base: 1)])
    }
}
