import Foundation
import HoldfastHub
import MachineCore
import RoomCore
import RoomHistory

/// Writes the logs of a stopped hub to a history.
enum LogDump {
    static func run(_ directory: String, rooms: [String], history: String) async throws {
        let log = try await SQLiteRoomLog(directory: directory)
        let file = try HistoryFile(history, who: "hub")
        for room in rooms.compactMap({ RoomName($0) }) {
            var items: [HistoryItem] = []
            var head: LogHead?
            if case .opened(_, let opened)? = await log.carryOut([.open(room)]).first { head = opened }
            guard let head else { throw CocoaError(.fileReadUnknown) }
            var after = head.base - 1
            while after < head.head {
                let order = LogOrder.fetchAfter(1, room, seq: after, limit: 500, bytes: 1 << 20)
                guard case .fetched(_, let entries, _, _)? = await log.carryOut([order]).first, let last = entries.last else {
                    throw CocoaError(.fileReadUnknown)
                }
                items += entries.map { HistoryItem($0) }
                after = last.seq
            }
            let all = items
            await file.note(.log, room: room.text) { ($0.epoch, $0.seq, $0.items) = (Hexadecimal.digits(head.epoch), head.base, all) }
        }
        await log.close()
    }
}
