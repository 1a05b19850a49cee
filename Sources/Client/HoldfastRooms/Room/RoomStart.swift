import RoomCore

/// Where a room begins if nothing of it is stored.
///
/// If entries are stored, the room continues from there, whatever this value says.
public enum RoomStart: Hashable, Sendable {
    /// Only new entries.
    case now
    /// The given number of last entries.
    case last(Int)
    /// All entries that the hub retains, as far as the store keeps them: see ``RoomStore/entriesPerRoom``.
    case beginning

    /// The last 50 entries.
    public static let last = RoomStart.last(50)

    var joinStart: JoinRequest.Start {
        switch self {
        case .now: .now
        case .last(let count): .last(Int64(clamping: max(count, 0)))
        case .beginning: .beginning
        }
    }
}
