import Foundation
import HoldfastHub
import RoomCore
import RoomsStorage

/// A directory for a hub's log, which is removed with this object.
final class LogBench {
    let path = NSTemporaryDirectory() + "holdfast-log-" + UUID().uuidString
    var file: String { path + "/rooms.sqlite" }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func open(
        _ retention: RoomRetention = RoomRetention(), drawsNewEpochs: Bool = false, hook: StoreHook? = nil
    ) async throws(RoomLogError) -> SQLiteRoomLog {
        try await SQLiteRoomLog(directory: path, retention: retention, drawsNewEpochs: drawsNewEpochs, hook: hook)
    }

    /// The log's files, without the lock.
    static let files = ["rooms.sqlite", "rooms.sqlite-wal", "rooms.sqlite-shm", "high"]

    /// The contents of the files.
    ///
    /// Nil if a file does not exist.
    func contents() -> [String: Data] {
        Dictionary(uniqueKeysWithValues: Self.files.compactMap { name in bytes(name).map { (name, $0) } })
    }

    func bytes(_ name: String) -> Data? { FileManager.default.contents(atPath: path + "/" + name) }

    /// Restores the contents in place.
    ///
    /// Files that still exist stay the same files.
    func putBack(_ contents: [String: Data]) throws {
        for name in Self.files { try put(contents[name], name) }
    }

    /// Changes the contents of a file in place.
    ///
    /// Nil removes it.
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

    /// Leaves the files as after a kill of the process.
    func kill(_ log: SQLiteRoomLog) async throws {
        let contents = contents()
        // What close writes is undone.
        await log.close()
        try putBack(contents)
    }

    /// Changes a file as its owner would not, while the owner is not writing.
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

    /// The head of a log that ends with such an entry.
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
    /// Opens a room and returns its head.
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

    /// Tends a log whose hub has run for as long as the calendar advanced.
    func tend(now: Int64) async -> LogCare { await tend(now: now, ran: now - LogSample.now) }

    /// Tends until nothing more is to be done at once.
    func tendAll(now: Int64) async -> [LogReply] {
        var replies: [LogReply] = []
        while true {
            let care = await tend(now: now)
            // Another test covers the reported sizes of rooms.
            replies += care.replies.filter { if case .weighed = $0 { false } else { true } }
            if !care.hasMore { return replies }
        }
    }
}
