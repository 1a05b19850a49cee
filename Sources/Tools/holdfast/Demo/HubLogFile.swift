import HoldfastHub
import HoldfastRooms
import NIOConcurrencyHelpers

/// The log of a hub that does not run.
enum HubLogFile {
    /// All that is retained of a room, in order.
    static func entries(of room: RoomName, in directory: String) async throws -> [Entry] {
        let entries = NIOLockedValueBox<[Entry]>([])
        let log = try await SQLiteRoomLog(directory: directory)
        do {
            try await log.export(room) { _, page in entries.withLockedValue { $0 += page } }
            await log.close()
        } catch {
            await log.close()
            throw error
        }
        return entries.withLockedValue(\.self)
    }
}
