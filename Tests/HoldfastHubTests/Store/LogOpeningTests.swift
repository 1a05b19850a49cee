import Foundation
import HoldfastHub
import RoomCore
import RoomsStorage
import Testing

/// How a hub opens the files in its directory.
struct LogOpeningTests {
    let bench = LogBench()

    private func failure(_ file: String = "") async -> RoomLogError? {
        do throws(RoomLogError) {
            _ = try await SQLiteRoomLog(directory: bench.path)
            return nil
        } catch { return error }
    }

    private func filled() async throws {
        let log = try await bench.open()
        _ = await log.carryOut([.open(LogSample.room), LogSample.append(1...200, size: 200)])
        await log.close()
    }

    @Test func `a directory can be used by one hub at a time`() async throws {
        let log = try await bench.open()
        #expect(await failure() == .inUse(bench.path))
        await log.close()
        #expect(await failure() == nil)
    }

    @Test func `a file that is not SQLite's is reported as damaged and left unchanged`() async throws {
        try FileManager.default.createDirectory(atPath: bench.path, withIntermediateDirectories: true)
        for bytes in [Data(), Data(repeating: 0x41, count: 10_000)] {
            try bytes.write(to: URL(fileURLWithPath: bench.file))
            guard case .corrupt? = await failure() else {
                Issue.record("\(bytes.count) bytes were accepted")
                continue
            }
            #expect(try Data(contentsOf: URL(fileURLWithPath: bench.file)) == bytes)
        }
    }

    @Test(.timeLimit(.minutes(1)), arguments: ["rooms.sqlite", "rooms.sqlite-wal", "rooms.sqlite.new", "high", "high.new", "lock"])
    func `a pipe in place of a file is refused without waiting`(name: String) async throws {
        try FileManager.default.createDirectory(atPath: bench.path, withIntermediateDirectories: true)
        let pipe = bench.path + "/" + name
        #expect(mkfifo(pipe, 0o600) == 0)
        #expect(await failure() == .corrupt("\(pipe) is not a regular file"))
    }

    @Test func `a file of another program is left unchanged`() async throws {
        try await filled()
        try LogBench.edit(bench.file, "PRAGMA application_id = 7")
        guard case .corrupt? = await failure() else {
            Issue.record("the file was opened")
            return
        }
    }

    @Test func `a file of a newer version is left unchanged`() async throws {
        try await filled()
        try LogBench.edit(bench.file, "PRAGMA user_version = 9")
        #expect(await failure() == .newer(9))
    }

    @Test func `a log of the first version is migrated`() async throws {
        let log = try await bench.open()
        _ = await log.carryOut([.open(LogSample.room), .open(LogSample.otherRoom), LogSample.append(1...3)])
        let epoch = await log.head()?.epoch
        await log.close()
        // The first version had devices for each room, and rows for rooms without entries.
        try LogBench.edit(
            bench.file,
            """
            DROP INDEX devices_by_device; CREATE UNIQUE INDEX old ON devices (room, device);
            INSERT INTO rooms (name, epoch, head, base, bytes) VALUES ('empty', 7, 0, 1, 0); PRAGMA user_version = 1
            """)
        for _ in 1...2 {
            let again = try await bench.open()
            let (device, other) = (LogSample.device(1), LogSample.otherRoom)
            #expect(await again.head()?.epoch == epoch)
            #expect(await again.stored() == LogSample.entries(1...3))
            guard case .recalled(_, _, let mark?)? = await again.carryOut([.recall(other, device)]).first else {
                Issue.record("the device has no owner")
                return
            }
            #expect(mark.high == 0 && mark.user == LogSample.ann)
            await #expect(throws: RoomLogError.noRoom("empty")) {
                try await again.history(RoomName("empty")!, before: 9, limit: 9, bytes: 9)
            }
            await again.close()
        }
        // The version in the file shows that the migration is done.
        try LogBench.edit(bench.file, "DROP INDEX old; DROP INDEX devices_by_device")
        #expect(try await bench.open().head()?.epoch == epoch)
        #expect(throws: (any Error).self) { try LogBench.edit(bench.file, "DROP INDEX devices_by_device") }
    }

    @Test func `a log of the third version keeps its entries, and records removed ones from then on`() async throws {
        let retention = RoomRetention(count: 3)
        let log = try await bench.open(retention)
        _ = await log.carryOut([.open(LogSample.room), LogSample.append(1...5)])
        _ = await log.tendAll(now: LogSample.now)
        let epoch = await log.head()?.epoch
        await log.close()
        try LogBench.edit(bench.file, "ALTER TABLE rooms DROP COLUMN below; PRAGMA user_version = 3")
        let again = try await bench.open(retention)
        #expect(again.opening.renewals.isEmpty)
        var expected = LogSample.head(epoch: epoch, head: 5, base: 3)
        expected.below = nil
        #expect(await again.head() == expected)
        #expect(await again.stored() == LogSample.entries(3...5))
        _ = await again.carryOut([LogSample.append(6...6, batch: 2)])
        _ = await again.tendAll(now: LogSample.now)
        #expect(await again.head() == LogSample.head(epoch: epoch, head: 6, base: 4))
        await again.close()
        // As after a migration that is in the journal, but not in the header of the file.
        try LogBench.edit(bench.file, "PRAGMA user_version = 3")
        #expect(try await bench.open(retention).head() == LogSample.head(epoch: epoch, head: 6, base: 4))
    }

    @Test func `a damaged page is detected`() async throws {
        try await filled()
        let file = try #require(FileHandle(forUpdatingAtPath: bench.file))
        let pages = try file.seekToEnd() / 4096
        for page in 2..<pages {
            try file.seek(toOffset: page * 4096)
            try file.write(contentsOf: Data(repeating: 0xA5, count: 512))
        }
        try file.close()
        guard case .corrupt? = await failure() else {
            Issue.record("the file was opened")
            return
        }
    }

    @Test func `a room without its last entries is detected`() async throws {
        try await filled()
        try LogBench.edit(bench.file, "DELETE FROM entries WHERE place = \(1 << 40 | 200)")
        #expect(await failure() == .corrupt("the end of room abc is not where it should be"))
    }

    @Test func `a journal without its file is reported as damage, and no new log is created`() async throws {
        try await filled()
        try FileManager.default.removeItem(atPath: bench.file)
        try Data([1]).write(to: URL(fileURLWithPath: bench.file + "-wal"))
        guard case .corrupt? = await failure() else {
            Issue.record("a new log was created")
            return
        }
        #expect(!FileManager.default.fileExists(atPath: bench.file))
    }

    @Test func `the rest of an unfinished new log is ignored`() async throws {
        try FileManager.default.createDirectory(atPath: bench.path, withIntermediateDirectories: true)
        try Data([1, 2, 3]).write(to: URL(fileURLWithPath: bench.file + ".new"))
        #expect(try await bench.open().head() != nil)
    }

    @Test func `all epochs are drawn again on request`() async throws {
        let log = try await bench.open()
        let epochs = [await log.head()?.epoch, await log.head(LogSample.otherRoom)?.epoch]
        _ = await log.carryOut([LogSample.append(1...3)])
        await log.close()
        let again = try await bench.open(drawsNewEpochs: true)
        let drawn = [await again.head()?.epoch, await again.head(LogSample.otherRoom)?.epoch]
        #expect(Set(epochs + drawn).count == 4)
        #expect(await again.head()?.head == 3)
        await again.close()
        #expect(try await bench.open().head()?.epoch == drawn[0])
    }

    @Test func `a closed log refuses orders`() async throws {
        let log = try await bench.open()
        _ = await log.head()
        await log.close()
        await log.close()
        #expect(
            await log.carryOut([
                .open(LogSample.room), LogSample.append(1...1), .recall(LogSample.room, LogSample.device(1)),
                .fetchAfter(5, LogSample.otherRoom, seq: 0, limit: 1, bytes: 1), .mark(LogSample.room, LogSample.ann, upTo: 1),
            ]) == [
                .notOpened(LogSample.room), .notAppended(LogSample.room, batch: 1),
                .notRecalled(LogSample.room, LogSample.device(1)), .notFetched(5),
            ])
        #expect(await log.health == .failing(.closed))
        #expect(await log.tend(now: 0) == LogCare())
        await #expect(throws: RoomLogError.closed) { try await log.backup(to: bench.path + "/copy") }
    }
}
