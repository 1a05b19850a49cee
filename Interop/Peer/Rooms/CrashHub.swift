import Foundation
import HoldfastHub
import HoldfastTesting
import RoomCore
import RoomsStorage

/// A hub's log that is opened after a crash, checked, and used until the next crash.
struct CrashHub {
    let directory: String
    let crash: Crash
    private static let rooms = ["a", "b", "c"].compactMap { RoomName($0) }
    private static let devices = (0..<4).map { DeviceID(Bits128(high: 1, low: $0)) }
    private static let user = UserName("ann")!
    private static let now: Int64 = 1_700_000_000_000
    private static let kept: Int64 = 60

    private struct Place: Hashable {
        let room: String
        let device: String
        let cseq: Int64
    }
    private struct Told {
        var epochs: [String: UInt64] = [:]
        var acked: [Place: Int64] = [:]
        var burnt: [Place: Bool] = [:]
        var tried: Set<Place> = []
        var bases: [String: Int64] = [:]
        var copied: [String: Int64] = [:]
    }

    func run() async throws {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let journal = try CrashJournal(directory + "/told")
        let told = try read(journal)
        let retention = RoomRetention(count: Self.kept)
        let log = try await SQLiteRoomLog(directory: directory + "/log", retention: retention, checkedBytes: .max, hook: crash.hook)
        let heads = try await check(log, told)
        // A room without entries may have another epoch after a restart.
        for (room, head) in heads where told.epochs[room.text] == nil && head.head > 0 { try journal.add("epoch", room, head.epoch) }
        try await checkCopy(told, heads)
        try await use(log, heads, journal)
        throw Violation("\(crash.point.rawValue) was not passed \(crash.pass) times")
    }

    private func read(_ journal: CrashJournal) throws -> Told {
        var told = Told()
        for line in journal.lines {
            switch line.first {
            case "epoch": told.epochs[line[1]] = UInt64(line[2])
            case "tried": told.tried.insert(try place(line))
            case "acked": told.acked[try place(line)] = Int64(line[4])
            case "burnt": told.burnt[try place(line)] = true
            case "base": told.bases[line[1]] = Int64(line[2])
            case "copied": told.copied[line[1]] = Int64(line[2])
            default: throw Violation("the journal says \(line)")
            }
        }
        return told
    }

    private func place(_ line: [String]) throws -> Place {
        guard line.count > 3, let cseq = Int64(line[3]) else { throw Violation("the journal says \(line)") }
        return Place(room: line[1], device: line[2], cseq: cseq)
    }

    // MARK: Invariants

    private func check(_ log: SQLiteRoomLog, _ told: Told) async throws -> [(RoomName, LogHead)] {
        var heads: [(RoomName, LogHead)] = []
        for room in Self.rooms {
            guard case .opened(_, let head)? = await log.carryOut([.open(room)]).first else { throw Violation("\(room) is not opened") }
            try demand(told.epochs[room.text] ?? head.epoch == head.epoch, "\(room) has another epoch")
            try demand(head.base >= told.bases[room.text] ?? 1, "\(room) was trimmed to \(told.bases[room.text] ?? 0), is at \(head.base)")
            let entries = try await entries(of: room, head, log)
            var highs: [DeviceID: Int64] = [:]
            for entry in entries {
                let place = Place(room: room.text, device: entry.device.description, cseq: entry.cseq)
                try demand(told.tried.contains(place), "\(place) is in the log, and nobody published it")
                try demand(entry == Self.entry(entry.seq, entry.device, entry.cseq), "\(place) is not as it was published")
                try demand(highs[entry.device] ?? 0 < entry.cseq, "\(place) is not after \(highs[entry.device] ?? 0)")
                try demand(told.acked[place] ?? entry.seq == entry.seq, "\(place) was acked as \(told.acked[place] ?? 0), is \(entry.seq)")
                highs[entry.device] = entry.cseq
            }
            for (place, seq) in told.acked where place.room == room.text {
                try demand(seq <= head.head, "\(place) was acked as \(seq), the log ends at \(head.head)")
                guard seq >= head.base, let device = DeviceID(place.device) else { continue }
                let found = await log.carryOut([.find(1, room, device, cseq: place.cseq)])
                let stored = FoundEntry(Self.entry(seq, device, place.cseq))
                try demand(found == [.found(1, stored)], "\(place) was acked as \(seq), and is gone")
            }
            try await checkMarks(room, log, told, highs)
            heads.append((room, head))
        }
        return heads
    }

    private func checkMarks(_ room: RoomName, _ log: SQLiteRoomLog, _ told: Told, _ highs: [DeviceID: Int64]) async throws {
        for device in Self.devices {
            guard case .recalled(_, _, let mark)? = await log.carryOut([.recall(room, device)]).first else {
                throw Violation("\(device) is not recalled")
            }
            let mine: (Place) -> Bool = { $0.room == room.text && $0.device == device.description }
            let promised = max(told.acked.keys.filter(mine).map(\.cseq).max() ?? 0, told.burnt.keys.filter(mine).map(\.cseq).max() ?? 0)
            let high = mark?.high ?? 0
            try demand(high >= max(promised, highs[device] ?? 0), "\(device) in \(room) stands at \(high), \(promised) was acked")
            try demand(
                high == 0 || told.tried.contains(Place(room: room.text, device: device.description, cseq: high)), "nobody published \(high)"
            )
        }
    }

    /// All entries of a room, which must have no gap.
    private func entries(of room: RoomName, _ head: LogHead, _ log: SQLiteRoomLog) async throws -> [Entry] {
        guard
            case .fetched(1, let entries, head.base, _)? = await log.carryOut([.fetchAfter(1, room, seq: 0, limit: .max, bytes: .max)])
                .first
        else { throw Violation("\(room) cannot be read") }
        let numbers = head.base..<head.head + 1
        try demand(entries.map(\.seq) == Array(numbers), "\(room) holds \(entries.map(\.seq)), not \(numbers)")
        return entries
    }

    /// Checks the last complete backup as a new hub opens it, and the files that such a start leaves.
    private func checkCopy(_ told: Told, _ heads: [(RoomName, LogHead)]) async throws {
        let (files, restored) = (FileManager.default, directory + "/restored")
        if !files.fileExists(atPath: restored) {
            guard files.fileExists(atPath: directory + "/copy") else { return }
            try? files.removeItem(atPath: restored + ".new")
            try files.createDirectory(atPath: restored + ".new", withIntermediateDirectories: true)
            try files.copyItem(atPath: directory + "/copy", toPath: restored + ".new/rooms.sqlite")
            try files.moveItem(atPath: restored + ".new", toPath: restored)
        }
        let copy = try await SQLiteRoomLog(directory: restored, checkedBytes: .max, hook: crash.hook)
        for (room, head) in heads {
            guard case .opened(_, let copied)? = await copy.carryOut([.open(room)]).first else { throw Violation("no \(room) in the copy") }
            try demand(copied.epoch != head.epoch, "the copy of \(room) has the epoch of the log")
            try demand(copied.head >= told.copied[room.text] ?? 0, "the copy of \(room) ends at \(copied.head)")
            _ = try await entries(of: room, copied, copy)
        }
        await copy.close()
        try files.removeItem(atPath: restored)
    }

    // MARK: Use until the crash

    private func use(_ log: SQLiteRoomLog, _ heads: [(RoomName, LogHead)], _ journal: CrashJournal) async throws {
        var chance = SeededGenerator(seed: crash.seed)
        var ends = Dictionary(uniqueKeysWithValues: heads.map { ($0, $1.head) })
        var highs: [RoomName: [DeviceID: Int64]] = [:]
        for room in Self.rooms {
            for device in Self.devices {
                guard case .recalled(_, _, let mark)? = await log.carryOut([.recall(room, device)]).first else { continue }
                highs[room, default: [:]][device] = mark?.high ?? 0
            }
        }
        for turn in 1...120 {
            var (orders, promises): ([LogOrder], [RoomName: [(Bool, DeviceID, Int64, Int64)]]) = ([], [:])
            for room in Self.rooms where Bool.random(using: &chance) {
                var records: [LogRecord] = []
                for _ in 0..<Int.random(in: 1...6, using: &chance) {
                    let device = Self.devices[Int.random(in: 0..<Self.devices.count, using: &chance)]
                    let cseq = (highs[room]?[device] ?? 0) + 1
                    let isVoid = Int.random(in: 0..<8, using: &chance) == 0
                    highs[room]?[device] = cseq
                    if !isVoid { ends[room, default: 0] += 1 }
                    let seq = ends[room] ?? 0
                    let entry = Self.entry(seq, device, cseq)
                    records.append(isVoid ? .void(device, entry.user, cseq: cseq, id: entry.id, at: Self.now) : .entry(entry))
                    promises[room, default: []].append((isVoid, device, cseq, seq))
                    try journal.add("tried", room, device, cseq)
                }
                orders.append(.append(room, batch: Int64(turn), records))
                orders.append(.mark(room, Self.user, upTo: ends[room] ?? 0))
            }
            let replies = await log.carryOut(orders)
            let health = await log.health
            for room in promises.keys {
                try demand(replies.contains(.appended(room, batch: Int64(turn))), "\(room) was not appended to: \(health)")
            }
            for (room, promised) in promises {
                for (isVoid, device, cseq, seq) in promised {
                    if isVoid { try journal.add("burnt", room, device, cseq) } else { try journal.add("acked", room, device, cseq, seq) }
                }
            }
            if turn % 3 == 0 {
                let care = await log.tend(now: Self.now, ran: 0)
                for case .trimmed(let room, let base, _) in care.replies { try journal.add("base", room, base) }
            }
            if turn % 4 == 0 { try await copy(log, ends, journal) }
        }
    }

    private func copy(_ log: SQLiteRoomLog, _ ends: [RoomName: Int64], _ journal: CrashJournal) async throws {
        // The previous copy is removed only when the new one has its name.
        try? FileManager.default.removeItem(atPath: directory + "/next")
        try await log.backup(to: directory + "/next")
        guard rename(directory + "/next", directory + "/copy") == 0 else { throw Violation("the copy cannot be renamed") }
        for (room, end) in ends { try journal.add("copied", room, end) }
    }

    private static func entry(_ seq: Int64, _ device: DeviceID, _ cseq: Int64) -> Entry {
        let id = MessageID(Bits128(high: device.bits.low << 32 | 0x7000, low: UInt64(cseq)))
        return Entry(
            seq: seq, id: id, device: device, cseq: cseq, user: user, at: now + seq, sent: now, type: "chat.text",
            payload: .json([UInt8](repeating: 0x30 + UInt8(cseq % 10), count: Int(cseq * 37 % 900) + 1)))
    }
}
