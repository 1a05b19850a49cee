package import RoomCore

extension SQLiteRoomLog {
    /// Writes a room as it is now as lines of JSON.
    ///
    /// They are frames of docs/rooms-protocol.md: a `state` without entries, which says where the room stands, and a `msg` for each
    /// entry, in order.
    ///
    /// - Parameters:
    ///   - room: The room.
    ///   - write: Takes one line after the other, each with its end.
    /// - Throws: A ``RoomLogError``, or what `write` throws.
    package func exportLines(_ room: RoomName, write: @Sendable ([UInt8]) throws -> Void) async throws {
        let newline = UInt8(ascii: "\n")
        try await export(room) { head, entries in
            if entries.first?.seq ?? head.base == head.base {
                let state = HubFrame.RoomState(
                    room: room, epoch: head.epoch, from: head.base, to: head.base - 1, head: head.head, base: head.base, items: [],
                    isSnapshot: true, hasMore: head.head >= head.base, high: 0, highID: nil, rights: .read, reads: head.reads)
                try write(HubFrame.state(state).json() + [newline])
            }
            for entry in entries { try write(HubFrame.entries(room, epoch: head.epoch, [entry]).json() + [newline]) }
        }
    }
}
