import Foundation
import HoldfastHub
import RoomCore
import RoomsStorage
import Testing

/// Backups of a log that is in use.
struct LogBackupTests {
    let room = LogSample.room
    let bench = LogBench()
    let restored = LogBench()

    /// Starts a hub on the copy and stops it.
    private func restore(_ copy: String) throws {
        try FileManager.default.createDirectory(atPath: restored.path, withIntermediateDirectories: true)
        try FileManager.default.copyItem(atPath: copy, toPath: restored.file)
    }

    @Test func `a backup has all entries, and the log continues`() async throws {
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

    @Test func `a hub that opens a backup draws new epochs once`() async throws {
        let log = try await bench.open()
        let epoch = await log.head()?.epoch
        let other = await log.head(LogSample.otherRoom)?.epoch
        _ = await log.carryOut([LogSample.append(1...1), LogSample.append(1...1, to: LogSample.otherRoom)])
        try await log.backup(to: bench.path + "/copy")
        try restore(bench.path + "/copy")
        let copy = try await restored.open()
        let drawn = [await copy.head()?.epoch, await copy.head(LogSample.otherRoom)?.epoch]
        #expect(Set([epoch, other] + drawn).count == 4)
        #expect(!drawn.contains(0))
        await copy.close()
        #expect(try await restored.open().head()?.epoch == drawn[0])
        #expect(await log.head()?.epoch == epoch, "the log that was copied keeps its epoch")
    }

    @Test func `a backup does not overwrite a file`() async throws {
        let log = try await bench.open()
        try Data([1]).write(to: URL(fileURLWithPath: bench.path + "/copy"))
        await #expect(throws: RoomLogError.exists(bench.path + "/copy")) { try await log.backup(to: bench.path + "/copy") }
        #expect(try Data(contentsOf: URL(fileURLWithPath: bench.path + "/copy")) == Data([1]))
    }

    @Test func `a backup that cannot be written leaves no file`() async throws {
        let log = try await bench.open()
        await #expect(throws: RoomLogError.self) { try await log.backup(to: bench.path + "/nowhere/copy") }
        #expect(await log.health == .healthy)
    }

    @Test func `a backup beside another log's journal is not opened`() async throws {
        let log = try await bench.open()
        try await log.backup(to: bench.path + "/copy")
        try restore(bench.path + "/copy")
        try Data([1]).write(to: URL(fileURLWithPath: restored.file + "-wal"))
        do throws(RoomLogError) {
            _ = try await restored.open()
            Issue.record("the backup was opened")
        } catch { #expect(error == .corrupt("beside the backup \(restored.file) is the journal of another log")) }
    }

    @Test func `a room is exported in pages, in order`() async throws {
        let log = try await bench.open(RoomRetention(count: 1200))
        _ = await log.carryOut([.open(room), LogSample.append(1...1300), .mark(room, LogSample.bob, upTo: 4)])
        _ = await log.tendAll(now: LogSample.now)
        var room = try await log.pages(of: self.room)
        var pages: [[Entry]] = []
        while let page = try await room.next() { pages.append(page) }
        #expect(pages.count == 3 && pages.flatMap(\.self) == LogSample.entries(101...1300))
        #expect(await log.head()?.head == room.head.head)
        #expect(await log.head()?.reads == room.head.reads)
        await #expect(throws: RoomLogError.noRoom("def")) { try await log.pages(of: LogSample.otherRoom) }
        let voided = LogRecord.void(LogSample.device(1), LogSample.ann, cseq: 1, id: LogSample.id(1), at: LogSample.now)
        _ = await log.carryOut([.open(LogSample.otherRoom), .append(LogSample.otherRoom, batch: 1, [voided])])
        var empty = try await log.pages(of: LogSample.otherRoom)
        #expect(try await empty.next() == [])
        #expect(try await empty.next() == nil)
    }

    @Test func `entries appended during an export are not in it`() async throws {
        let log = try await bench.open()
        _ = await log.carryOut([.open(room), LogSample.append(1...700)])
        var room = try await log.pages(of: self.room)
        var pages: [[Entry]] = []
        while let page = try await room.next() {
            pages.append(page)
            if pages.count == 1 { _ = await log.carryOut([LogSample.append(701...2000, batch: 2)]) }
        }
        #expect(pages.map(\.count) == [500, 200] && pages.flatMap(\.self) == LogSample.entries(1...700))
    }

    @Test func `a room is exported as protocol frames, one on each line`() async throws {
        let log = try await bench.open()
        _ = await log.carryOut([.open(room), LogSample.append(1...3), .mark(room, LogSample.bob, upTo: 2)])
        _ = await log.tend(now: 0)
        let epoch = await log.head()?.epoch ?? 0
        let frames = try await lines(of: room, log).map { line in
            try Array(line).withUnsafeBytes { try HubFrame.decode(json: $0) }
        }
        #expect(frames.count == 4)
        guard case .state(let state)? = frames.first else {
            Issue.record("the first line is \(String(describing: frames.first))")
            return
        }
        #expect((state.epoch, state.base, state.head, state.items.count) == (epoch, 1, 3, 0))
        #expect(state.reads == [HubFrame.ReadMarker(user: LogSample.bob, seq: 2)])
        #expect(Array(frames.dropFirst()) == (1...3).map { .entries(room, epoch: epoch, [LogSample.entry($0)]) })
    }

    private func lines(of room: RoomName, _ log: SQLiteRoomLog) async throws -> [ArraySlice<UInt8>] {
        var text: [UInt8] = []
        var pages = try await log.pages(of: room)
        while let lines = try await pages.nextLines() { text += lines }
        #expect(text.last == UInt8(ascii: "\n"))
        return text.dropLast().split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    }

    @Test func `a payload with line breaks is exported on one line`() async throws {
        let log = try await bench.open()
        var entry = LogSample.entry(1)
        entry.payload = .json(Array("{\r\n\"a\":\n[1,\n\"\\n\"]}".utf8))
        _ = await log.carryOut([.open(room), .append(room, batch: 1, [.entry(entry), .entry(LogSample.entry(2))])])
        let lines = try await lines(of: room, log)
        #expect(lines.count == 3 && String(decoding: lines[1], as: UTF8.self).contains("{  \"a\": [1, \"\\n\"]}"))
    }

    @Test func `tending moves the journal's contents into the file`() async throws {
        let log = try await bench.open()
        _ = await log.carryOut([.open(room), LogSample.append(1...6000, size: 1000)])
        let before = await log.figures
        #expect(before.journalBytes > 4 << 20)
        _ = await log.tend(now: 0)
        #expect(await log.figures.fileBytes > before.fileBytes + (4 << 20))
        #expect(await log.carryOut([LogSample.append(6001...6001)]) == [.appended(room, batch: 1)])
        #expect(await log.stored().count == 6001)
        // Little has been written since, so the file is not synced again.
        let changed = try FileManager.default.attributesOfItem(atPath: bench.file)[.modificationDate] as? Date
        _ = await log.tend(now: 1000)
        #expect(try FileManager.default.attributesOfItem(atPath: bench.file)[.modificationDate] as? Date == changed)
    }
}
