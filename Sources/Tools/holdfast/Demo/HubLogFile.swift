import HoldfastHub
import HoldfastRooms

/// The log of a hub that does not run.
enum HubLogFile {
    /// All that is retained of a room, in order.
    static func entries(of room: RoomName, in directory: String) async throws -> [Entry] {
        var entries: [Entry] = []
        let log = try await SQLiteRoomLog(directory: directory)
        do {
            var pages = try await log.pages(of: room)
            while let page = try await pages.next() { entries += page }
            await log.close()
        } catch {
            await log.close()
            throw error
        }
        return entries
    }
}
