import Foundation
import HoldfastHub
import RoomCore
import RoomsStorage

/// A directory for a hub's log, which goes when this goes.
final class LogBench {
    let path = NSTemporaryDirectory() + "holdfast-log-" + UUID().uuidString
    var file: String { path + "/rooms.sqlite" }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func open(
        _ retention: RoomRetention = RoomRetention(), drawsNewEpochs: Bool = false, hook: StoreHook? = nil
    ) async throws(RoomLogError) -> SQLiteRoomLog {
        try await SQLiteRoomLog(directory: path, retention: retention, drawsNewEpochs: drawsNewEpochs, hook: hook)
    }

    /// The files of the log, but for the lock.
    static let files = ["rooms.sqlite", "rooms.sqlite-wal", "rooms.sqlite-shm", "high"]

    /// What the files hold now; nil: there is no such file.
    func contents() -> [String: Data] {
        Dictionary(uniqueKeysWithValues: Self.files.compactMap { name in bytes(name).map { (name, $0) } })
    }

    func bytes(_ name: String) -> Data? { FileManager.default.contents(atPath: path + "/" + name) }

    /// Lets the files hold what they did, each in its place on the disk, as far as it is still there.
    func putBack(_ contents: [String: Data]) throws {
        for name in Self.files { try put(contents[name], name) }
    }

    /// Changes what a file holds, and leaves it the same file; nil: takes it away.
    func put(_ bytes: Data?, _ name: String) throws {
        let file = path + "/" + name
        guard let bytes else {
            if FileManager.default.fileExists(atPath: file) { try FileManager.default.removeItem(atPath: file) }
            return
        }
        guard let handle = FileHandle(forUpdatingAtPath: file) else { return try bytes.write(to: URL(fileURLWithPath: file)) }
        try handle.truncate(atOffset: 0)
        try handle.write(contentsOf: bytes)
        try handle.close()
    }

    /// Leaves the files as a process does that is killed now.
    func kill(_ log: SQLiteRoomLog) async throws {
        let contents = contents()
        // What this still writes is undone.
        await log.close()
        try putBack(contents)
    }

    /// Does to a file what its owner would not, when that is not writing itself.
    static func edit(_ file: String, _ sql: String) throws { try SQLiteConnection(file).run(sql) }
}

enum LogSample {
    static let room = RoomName("abc")!
    static let otherRoom = RoomName("def")!
    static let ann = UserName("ann")!
    static let bob = UserName("bob")!
    static let now: Int64 = 1_700_000_000_000

    static func device(_ number: UInt64) -> DeviceID { DeviceID(Bits128(high: 7, low: number)) }
    static func id(_ number: Int64) -> MessageID { MessageID(Bits128(high: 0x7000, low: UInt64(number))) }

    static func entry(_ seq: Int64, device: UInt64 = 1, cseq: Int64? = nil, at: Int64 = now, size: Int = 20) -> Entry {
        Entry(
            seq: seq, id: id(seq), device: self.device(device), cseq: cseq ?? seq, user: device == 1 ? ann : bob, at: at, sent: at - 5,
            type: "chat.text", payload: .json([UInt8](repeating: 0x31, count: size)))
    }

    /// Where a log stands that ends with such an entry.
    static func head(epoch: UInt64?, head: Int64, base: Int64 = 1) -> LogHead {
        LogHead(
            epoch: epoch ?? 0, head: head, base: base, reads: [], last: now, lastStamp: stamp(head), below: base > 1 ? stamp(base - 1) : nil
        )
    }

    static func stamp(_ seq: Int64, at: Int64 = now) -> EntryStamp { EntryStamp(entry(seq, at: at)) }

    static func entries(_ numbers: ClosedRange<Int64>, size: Int = 20) -> [Entry] { numbers.map { entry($0, size: size) } }

    static func append(_ numbers: ClosedRange<Int64>, to room: RoomName = room, batch: Int64 = 1, size: Int = 20) -> LogOrder {
        .append(room, batch: batch, entries(numbers, size: size).map { .entry($0) })
    }
}

extension SQLiteRoomLog {
    /// Opens a room, and says where it stands.
    func head(_ room: RoomName = LogSample.room) async -> LogHead? {
        guard case .opened(room, var head)? = await carryOut([.open(room)]).first else { return nil }
        head.bytes = 0
        return head
    }

    func stored(_ room: RoomName = LogSample.room) async -> [Entry] {
        guard case .fetched(1, let entries, _, _)? = await carryOut([.fetchAfter(1, room, seq: 0, limit: 100_000, bytes: .max)]).first
        else {
            return []
        }
        return entries
    }

    /// Tends a log whose hub has run as long as the calendar has gone on.
    func tend(now: Int64) async -> LogCare { await tend(now: now, ran: now - LogSample.now) }

    /// Tends until there is nothing more to do at once.
    func tendAll(now: Int64) async -> [LogReply] {
        var replies: [LogReply] = []
        while true {
            let care = await tend(now: now)
            // How much a room holds then has a test of its own.
            replies += care.replies.filter { if case .weighed = $0 { false } else { true } }
            if !care.hasMore { return replies }
        }
    }
}
