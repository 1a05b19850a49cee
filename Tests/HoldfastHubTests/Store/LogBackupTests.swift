import Foundation
import HoldfastHub
import NIOConcurrencyHelpers
import RoomCore
import RoomsStorage
import Testing

/// Copies of a log that is in use.
struct LogBackupTests {
    let room = LogSample.room
    let bench = LogBench()
    let restored = LogBench()

    /// A hub that is started on the copy.
    private func restore(_ copy: String) throws {
        try FileManager.default.createDirectory(atPath: restored.path, withIntermediateDirectories: true)
        try FileManager.default.copyItem(atPath: copy, toPath: restored.file)
    }

    @Test func `a backup holds what there was, and the log goes on`() async throws {
        let log = try await bench.open()
        _ = await log.carryOut([.open(room), LogSample.append(1...5), .mark(room, LogSample.bob, upTo: 4)])
        _ = await log.tend(now: 0)
        try await log.backup(to: bench.path + "/copy")
        _ = await log.carryOut([LogSample.append(6...6, batch: 2)])
        try restore(bench.path + "/copy")
        let copy = try await restored.open()
        #expect(await copy.stored() == LogSample.entries(1...5))
        #expect(await copy.head()?.reads == [HubFrame.ReadMarker(user: LogSample.bob, seq: 4)])
        let mark = DeviceMark(high: 5, id: LogSample.id(5), user: LogSample.ann, at: LogSample.now)
        #expect(await copy.carryOut([.recall(room, LogSample.device(1))]) == [.recalled(room, LogSample.device(1), mark)])
        #expect(await log.stored() == LogSample.entries(1...6))
    }

    @Test func `a hub that opens a backup draws new epochs, once`() async throws {
        let log = try await bench.open()
        let epoch = await log.head()?.epoch
        let other = await log.head(LogSample.otherRoom)?.epoch
        try await log.backup(to: bench.path + "/copy")
        try restore(bench.path + "/copy")
        let copy = try await restored.open()
        let drawn = [await copy.head()?.epoch, await copy.head(LogSample.otherRoom)?.epoch]
        #expect(Set([epoch, other] + drawn).count == 4)
        #expect(!drawn.contains(0))
        await copy.close()
        #expect(try await restored.open().head()?.epoch == drawn[0])
        #expect(await log.head()?.epoch == epoch, "the log that was copied keeps its own")
    }

    @Test func `a backup replaces nothing`() async throws {
        let log = try await bench.open()
        try Data([1]).write(to: URL(fileURLWithPath: bench.path + "/copy"))
        await #expect(throws: RoomLogError.exists(bench.path + "/copy")) { try await log.backup(to: bench.path + "/copy") }
        #expect(try Data(contentsOf: URL(fileURLWithPath: bench.path + "/copy")) == Data([1]))
    }

    @Test func `a backup that cannot be written leaves nothing behind`() async throws {
        let log = try await bench.open()
        await #expect(throws: RoomLogError.self) { try await log.backup(to: bench.path + "/nowhere/copy") }
        #expect(await log.health == .healthy)
    }

    @Test func `a backup that lies beside another log's journal is not opened`() async throws {
        let log = try await bench.open()
        try await log.backup(to: bench.path + "/copy")
        try restore(bench.path + "/copy")
        try Data([1]).write(to: URL(fileURLWithPath: restored.file + "-wal"))
        do throws(RoomLogError) {
            _ = try await restored.open()
            Issue.record("it was opened")
        } catch { #expect(error == .corrupt("beside the backup \(restored.file) lies the journal of another log")) }
    }

    @Test func `a room is read out in pages, in order`() async throws {
        let log = try await bench.open(RoomRetention(count: 1200))
        _ = await log.carryOut([.open(room), LogSample.append(1...1300), .mark(room, LogSample.bob, upTo: 4)])
        _ = await log.tendAll(now: LogSample.now)
        let book = LogExportBook()
        try await log.export(room) { head, entries in book.add(head, entries) }
        #expect(book.pages.count == 3)
        #expect(book.pages.flatMap(\.1) == LogSample.entries(101...1300))
        let head = await log.head()
        #expect(book.pages.allSatisfy { $0.0 == head })
        await #expect(throws: RoomLogError.noRoom("def")) { try await log.export(LogSample.otherRoom) { _, _ in } }
        _ = await log.head(LogSample.otherRoom)
        try await log.export(LogSample.otherRoom) { head, entries in book.add(head, entries) }
        #expect(book.pages.count == 4, "an empty room is one empty page")
    }

    @Test func `a room is read out as frames of the protocol, a line each`() async throws {
        let log = try await bench.open()
        _ = await log.carryOut([.open(room), LogSample.append(1...3), .mark(room, LogSample.bob, upTo: 2)])
        _ = await log.tend(now: 0)
        let epoch = await log.head()?.epoch ?? 0
        let lines = NIOLockedValueBox<[[UInt8]]>([])
        try await log.exportLines(room) { line in lines.withLockedValue { $0.append(line) } }
        let frames = try lines.withLockedValue { $0 }.map { line -> HubFrame? in
            #expect(line.last == UInt8(ascii: "\n"))
            return try line.withUnsafeBytes { try HubFrame.decode(json: $0) }
        }
        #expect(frames.count == 4)
        guard case .state(let state)? = frames.first else {
            Issue.record("it begins with \(String(describing: frames.first))")
            return
        }
        #expect((state.epoch, state.base, state.head, state.items.count) == (epoch, 1, 3, 0))
        #expect(state.reads == [HubFrame.ReadMarker(user: LogSample.bob, seq: 2)])
        #expect(Array(frames.dropFirst()) == (1...3).map { .entries(room, epoch: epoch, [LogSample.entry($0)]) })
    }

    @Test func `what waits in the journal is brought into the file by tending`() async throws {
        let log = try await bench.open()
        _ = await log.carryOut([.open(room), LogSample.append(1...6000, size: 1000)])
        let before = await log.figures
        #expect(before.journalBytes > 4 << 20)
        _ = await log.tend(now: 0)
        #expect(await log.figures.fileBytes > before.fileBytes + (4 << 20))
        #expect(await log.carryOut([LogSample.append(6001...6001)]) == [.appended(room, batch: 1)])
        #expect(await log.stored().count == 6001)
    }
}

private final class LogExportBook: Sendable {
    private let box = NIOLockedValueBox<[(LogHead, [Entry])]>([])
    var pages: [(LogHead, [Entry])] { box.withLockedValue { $0 } }
    func add(_ head: LogHead, _ entries: [Entry]) { box.withLockedValue { $0.append((head, entries)) } }
}
