/// What a hub counts.
package struct HubFigures: Hashable, Sendable {
    /// Rooms that are open or being opened.
    package var rooms = 0
    /// Rooms that take no publications, because they could not be opened or written.
    package var closedRooms = 0
    /// Connections, known or not yet.
    package var connections = 0
    /// Connections in rooms, each as often as it is in one.
    package var members = 0
    /// Publications that were taken, voids and the server's own too.
    package var published: UInt64 = 0
    /// Acks of publications that went to disk.
    package var acked: UInt64 = 0
    /// Publications that were on disk already.
    package var duplicates: UInt64 = 0
    /// Holes that were told.
    package var holes: UInt64 = 0
    /// Entries handed to members, each as often as there are members; those of states count too.
    package var delivered: UInt64 = 0
    /// Deliveries of typing and signals.
    package var ephemerals: UInt64 = 0
    /// Signals, words on typing, read markers and changes of presence that were not told, because a budget was used up.
    package var unsaid: UInt64 = 0
    /// States that replace what the client has.
    package var snapshots: UInt64 = 0
    /// States that follow what the client has.
    package var resumes: UInt64 = 0
    /// How often a member was told that it lags.
    package var lagged: UInt64 = 0
    /// Appends that were not confirmed.
    package var failedAppends: UInt64 = 0
    /// How often the log of a room was found to have gone back.
    package var rewound: UInt64 = 0
    /// Rooms that nobody was in and that were let go before their time, because others needed their places.
    package var crowdedOut: UInt64 = 0
    /// What was refused.
    package var refused: [Refusal.Code: UInt64] = [:]
}

/// What a hub knows of one room.
package struct RoomFigures: Hashable, Sendable {
    package var room: RoomName
    /// Connections in it.
    package var members: Int
    /// Entries a second, of the last ten seconds.
    package var pace: Double
}
