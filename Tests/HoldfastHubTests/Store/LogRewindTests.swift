import Foundation
import RoomCore
import RoomsStorage
import Testing

@testable import HoldfastHub

/// A log that went back while no hub had it open.
///
/// Its rooms get new epochs, or a number would be used for two messages.
struct LogRewindTests {
    /// The result when a hub opens the files.
    private enum Found {
        /// The hub does not start.
        case refused(RoomLogError)
        case renewed([LogRenewal])
        /// All reported entries are there in the same epoch.
        case kept
        /// Reported entries are missing in the same epoch.
        case rewound(to: Int64)
        /// Some of it cannot be read, and no other data is returned in its place.
        case unread
    }
    let room = LogSample.room
    let bench = LogBench()
    private static let frame = 24 + 4096

    /// A log of 20 transactions after a kill of the process: 12 are in the file, and the rest are in the journal.
    private func fill() async throws -> (epoch: UInt64, files: [String: Data], older: [String: Data]) {
        let log = try await bench.open()
        #expect(log.opening.renewals.isEmpty)
        let epoch = try #require(await log.head()?.epoch)
        var older: [String: Data] = [:]
        for number: Int64 in 1...20 {
            _ = await log.carryOut([LogSample.append(number...number, batch: number, size: 1500)])
            if number == 8 { older = bench.contents() }
            if number == 12 { try LogBench.edit(bench.file, "PRAGMA wal_checkpoint(TRUNCATE)") }
        }
        try await bench.kill(log)
        return (epoch, bench.contents(), older)
    }

    private func find(_ epoch: UInt64) async throws -> Found {
        do throws(RoomLogError) {
            let log = try await bench.open()
            let head = await log.head()
            let fetched = await log.carryOut([.fetchAfter(1, room, seq: 0, limit: 100, bytes: .max)])
            let renewals = log.opening.renewals
            await log.close()
            if head?.epoch != epoch { return .renewed(renewals) }
            #expect(renewals.isEmpty)
            guard case .fetched(1, let stored, _, _)? = fetched.first, let head else { return .unread }
            let isWhole = stored == LogSample.entries(1...20, size: 1500) && head.head == 20
            return isWhole ? .kept : .rewound(to: head.head)
        } catch { return .refused(error) }
    }

    private func flipped(_ data: Data?, at place: Int, by bits: UInt8 = 0x10) throws -> Data {
        var data = try #require(data)
        data[data.startIndex + place] ^= bits
        return data
    }

    @Test func `a killed process loses nothing, and the epochs stay`() async throws {
        let (epoch, _, _) = try await fill()
        guard case .kept = try await find(epoch) else {
            Issue.record("the log was not kept")
            return
        }
    }

    @Test func `a mark that is one transaction behind is no sign of a rewind`() async throws {
        let (epoch, files, older) = try await fill()
        try bench.putBack(files)
        // As after a power cut, because the mark is not synced with each transaction.
        try bench.put(older["high"], "high")
        guard case .kept = try await find(epoch) else {
            Issue.record("the log was not kept")
            return
        }
    }

    @Test func `any flipped byte of the journal gives new epochs`() async throws {
        let (epoch, files, _) = try await fill()
        let journal = try #require(files["rooms.sqlite-wal"])
        let frames = (journal.count - 32) / Self.frame
        try #require(frames > 8)
        // Each byte of the header, each byte of the first, a middle and the last frame's header, and some bytes of each part of the page.
        var places = Array(0..<32)
        for frame in [0, frames / 2, frames - 1] {
            places += (Array(0..<24) + [24, 29, 33, 40, 1000, 2500, 4119]).map { 32 + frame * Self.frame + $0 }
        }
        for (index, place) in places.enumerated() {
            try bench.putBack(files)
            try bench.put(flipped(journal, at: place, by: 1 << UInt8(index % 8)), "rooms.sqlite-wal")
            guard case .renewed(let reasons) = try await find(epoch) else {
                Issue.record("byte \(place) was not noticed")
                continue
            }
            #expect(reasons.contains { if case .rewound(_, from: 21) = $0 { true } else { false } }, "byte \(place): \(reasons)")
        }
    }

    @Test func `a shorter, missing or older journal gives new epochs`() async throws {
        let (epoch, files, older) = try await fill()
        let journal = try #require(files["rooms.sqlite-wal"])
        let whole = (journal.count - 32) / Self.frame
        let lengths = [0, 1, 31, 32, 33, 32 + Self.frame, 32 + Self.frame * (whole / 2) + 700, journal.count - 1]
        for journal in lengths.map({ journal.prefix($0) }) + [nil, older["rooms.sqlite-wal"]] {
            try bench.putBack(files)
            try bench.put(journal, "rooms.sqlite-wal")
            switch try await find(epoch) {
            case .renewed: break
            // An older journal with a newer file may be no valid log.
            case .refused(.corrupt) where journal == older["rooms.sqlite-wal"]: break
            case let found: Issue.record("\(journal?.count ?? -1) bytes: \(found)")
            }
        }
    }

    @Test func `data past the end of a damaged journal shows the damage, too`() async throws {
        let (epoch, files, older) = try await fill()
        let journal = try #require(files["rooms.sqlite-wal"])
        try bench.putBack(files)
        // After a power cut the mark may be behind.
        try bench.put(older["high"], "high")
        try bench.put(flipped(journal, at: 32 + Self.frame * 3 + 100), "rooms.sqlite-wal")
        guard case .renewed(let reasons) = try await find(epoch) else {
            Issue.record("the damage was not noticed")
            return
        }
        #expect(reasons.contains { if case .lostTransactions(let count) = $0 { count > 3 } else { false } }, "\(reasons)")
    }

    @Test func `the index of the journal is rebuilt, whatever it holds`() async throws {
        let (epoch, files, older) = try await fill()
        let index = try #require(files["rooms.sqlite-shm"])
        // Its two headers, the checkpoint position, the locks and the tables.
        let flips = try (Array(0..<136) + [136, 2000, 16_384, 20_000]).map { try flipped(index, at: $0) }
        for index in flips + [Data(), index.prefix(100), nil, older["rooms.sqlite-shm"]] {
            try bench.putBack(files)
            try bench.put(index, "rooms.sqlite-shm")
            guard case .kept = try await find(epoch) else {
                Issue.record("an index of \(index?.count ?? -1) bytes matters")
                continue
            }
        }
    }

    @Test func `an older file gives new epochs, or is refused`() async throws {
        let (epoch, files, older) = try await fill()
        for journal in [files["rooms.sqlite-wal"], older["rooms.sqlite-wal"], nil] {
            try bench.putBack(files)
            try bench.put(older["rooms.sqlite"], "rooms.sqlite")
            try bench.put(journal, "rooms.sqlite-wal")
            switch try await find(epoch) {
            case .renewed, .refused(.corrupt): break
            case let found: Issue.record("\(found)")
            }
        }
    }

    @Test func `a shorter file is refused, or gives new epochs`() async throws {
        let (epoch, files, _) = try await fill()
        let file = try #require(files["rooms.sqlite"])
        for length in [0, 50, 99, 100, 4096, 5000, file.count / 2, file.count - 4096, file.count - 1] {
            try bench.putBack(files)
            try bench.put(file.prefix(length), "rooms.sqlite")
            switch try await find(epoch) {
            case .renewed, .refused(.corrupt), .unread: break
            // The missing pages may be in the journal.
            case .kept where length > 4096: break
            case let found: Issue.record("\(length) bytes: \(found)")
            }
        }
    }

    @Test func `a file with a flipped byte never goes back within its epoch`() async throws {
        let (epoch, files, _) = try await fill()
        let file = try #require(files["rooms.sqlite"])
        // Each byte of the header, and of each page the header, the cell pointers and some of the cells.
        var places = Array(0..<100)
        for page in 0..<file.count / 4096 {
            let heads = page == 0 ? Array(100..<108) : Array(0..<24)
            places += (heads + Array(stride(from: 1100, to: 4096, by: 333))).map { page * 4096 + $0 }
        }
        for (index, place) in places.enumerated() {
            try bench.putBack(files)
            try bench.put(flipped(file, at: place, by: 1 << UInt8(index % 8)), "rooms.sqlite")
            if case .rewound(let head) = try await find(epoch) { Issue.record("byte \(place): the log went back to \(head)") }
        }
    }

    @Test func `a directory that was copied back gives new epochs`() async throws {
        let log = try await bench.open()
        let epoch = try #require(await log.head()?.epoch)
        _ = await log.carryOut([LogSample.append(1...5)])
        await log.close()
        let (files, copy) = (FileManager.default, bench.path + ".copy")
        defer { try? files.removeItem(atPath: copy) }
        try files.copyItem(atPath: bench.path, toPath: copy)
        let again = try await bench.open()
        #expect(await again.head()?.epoch == epoch)
        _ = await again.carryOut([LogSample.append(6...10)])
        await again.close()
        try files.removeItem(atPath: bench.path)
        try files.copyItem(atPath: copy, toPath: bench.path)
        let restored = try await bench.open()
        #expect(await restored.head()?.head == 5)
        let renewed = try #require(await restored.head()?.epoch)
        #expect(renewed != epoch && restored.opening.renewals == [.moved])
        await restored.close()
        let last = try await bench.open()
        #expect(await last.head()?.epoch == renewed, "once")
        #expect(last.opening.renewals.isEmpty)
    }

    @Test func `an older copy written over the files of a directory gives new epochs`() async throws {
        let log = try await bench.open()
        let epoch = try #require(await log.head()?.epoch)
        _ = await log.carryOut([LogSample.append(1...5)])
        await log.close()
        let older = bench.contents()
        let again = try await bench.open()
        _ = await again.carryOut([LogSample.append(6...10)])
        await again.close()
        try bench.putBack(older)
        try bench.put(Data(), "lock")
        let restored = try await bench.open()
        #expect(await restored.head()?.head == 5)
        #expect(await restored.head()?.epoch != epoch && restored.opening.renewals == [.moved])
    }

    @Test func `a directory that was moved keeps its epochs`() async throws {
        let log = try await bench.open()
        let epoch = await log.head()?.epoch
        _ = await log.carryOut([LogSample.append(1...5)])
        await log.close()
        let other = LogBench()
        try FileManager.default.moveItem(atPath: bench.path, toPath: other.path)
        let moved = try await other.open()
        #expect(await moved.head()?.epoch == epoch)
        #expect(moved.opening.renewals.isEmpty)
    }

    @Test func `a missing or damaged mark gives new epochs once`() async throws {
        let (epoch, files, _) = try await fill()
        let mark = try #require(files["high"])
        let damaged = try (0..<mark.count).map { try flipped(mark, at: $0) } + [Data(), mark.prefix(20), mark + [0]]
        for (mark, reason) in damaged.map({ ($0, LogRenewal.damagedMark) }) + [(nil, .noMark)] {
            try bench.putBack(files)
            try bench.put(mark, "high")
            guard case .renewed(let reasons) = try await find(epoch) else {
                Issue.record("the mark's loss was not noticed")
                continue
            }
            #expect(reasons.contains(reason))
            let log = try await bench.open()
            #expect(log.opening.renewals.isEmpty)
            await log.close()
        }
    }

    @Test func `a start that was interrupted while it drew new epochs is completed by the next`() async throws {
        let (epoch, files, _) = try await fill()
        try bench.put(nil, "high")
        // The files of a start that was killed before its transaction.
        try NumberFile.make(bench.path + "/high", nil)
        guard case .renewed = try await find(epoch) else {
            Issue.record("the rewind was not noticed")
            return
        }
        // The files of a start that was killed after its transaction.
        let renewed = try #require(await bench.open().head()?.epoch)
        try NumberFile.make(bench.path + "/high", nil)
        guard case .renewed([.unfinished]) = try await find(renewed) else {
            Issue.record("the rewind was not noticed")
            return
        }
        try bench.putBack(files)
    }

    @Test func `a log of the previous version keeps its epochs`() async throws {
        let (epoch, _, _) = try await fill()
        await (try bench.open()).close()
        try LogBench.edit(bench.file, "DROP TABLE meta; PRAGMA user_version = 2")
        try bench.put(nil, "high")
        guard case .kept = try await find(epoch) else {
            Issue.record("the log was not kept")
            return
        }
        // From now on the mark has its position.
        try bench.put(nil, "high")
        guard case .renewed([.noMark]) = try await find(epoch) else {
            Issue.record("the rewind was not noticed")
            return
        }
    }

    @Test func `numbers continue in the new epoch, and the next start keeps it`() async throws {
        let (epoch, files, _) = try await fill()
        try bench.put(files["rooms.sqlite-wal"]?.prefix(32 + Self.frame * 4), "rooms.sqlite-wal")
        let log = try await bench.open()
        let head = try #require(await log.head())
        #expect(head.epoch != epoch && head.head < 20)
        let next = head.head + 1
        #expect(await log.carryOut([LogSample.append(next...next, batch: 99)]) == [.appended(room, batch: 99)])
        try await bench.kill(log)
        let again = try await bench.open()
        #expect(await again.head()?.epoch == head.epoch)
        #expect(await again.head()?.head == next)
        #expect(again.opening.renewals.isEmpty)
    }

    @Test func `a log that goes back while a hub runs refuses further writes`() async throws {
        let log = try await bench.open()
        _ = await log.carryOut([.open(room), LogSample.append(1...1)])
        try LogBench.edit(bench.file, "UPDATE meta SET value = 0 WHERE name = 'commits'; DROP TABLE reads")
        let orders = [LogSample.append(2...2, batch: 2), .mark(room, LogSample.ann, upTo: 1)]
        #expect(await log.carryOut(orders) == [.notAppended(room, batch: 2)])
        try LogBench.edit(
            bench.file, "CREATE TABLE reads (room INTEGER NOT NULL, user TEXT NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (room, user))")
        #expect(await log.carryOut([LogSample.append(2...2, batch: 3)]) == [.notAppended(room, batch: 3)])
        guard case .failing(.corrupt) = await log.health else {
            Issue.record("the log is healthy")
            return
        }
        await log.close()
        let again = try await bench.open()
        #expect(again.opening.renewals == [.rewound(to: 0, from: 2)])
    }
}
