import Foundation
import GRDBSQLite
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

    /// Does to a file what its owner would not.
    static func edit(_ file: String, _ sql: String) throws {
        var handle: OpaquePointer?
        defer { sqlite3_close_v2(handle) }
        guard sqlite3_open_v2(file, &handle, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK,
            sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK
        else { throw LogBenchError(message: handle.map { String(cString: sqlite3_errmsg($0)) } ?? "") }
    }
}

struct LogBenchError: Error { let message: String }

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

    static func entries(_ numbers: ClosedRange<Int64>, size: Int = 20) -> [Entry] { numbers.map { entry($0, size: size) } }

    static func append(_ numbers: ClosedRange<Int64>, to room: RoomName = room, batch: Int64 = 1, size: Int = 20) -> LogOrder {
        .append(room, batch: batch, entries(numbers, size: size).map { .entry($0) })
    }
}

extension SQLiteRoomLog {
    /// Opens a room, and says where it stands.
    func head(_ room: RoomName = LogSample.room) async -> LogHead? {
        guard case .opened(room, let head)? = await carryOut([.open(room)]).first else { return nil }
        return head
    }

    func stored(_ room: RoomName = LogSample.room) async -> [Entry] {
        guard case .fetched(1, let entries, _)? = await carryOut([.fetchAfter(1, room, seq: 0, limit: 100_000, bytes: .max)]).first else {
            return []
        }
        return entries
    }

    /// Tends until there is nothing more to do at once.
    func tendAll(now: Int64) async -> [LogReply] {
        var replies: [LogReply] = []
        while true {
            let care = await tend(now: now)
            replies += care.replies
            if !care.hasMore { return replies }
        }
    }
}
