import RoomCore

/// Where a room begins for one who has nothing of it stored.
///
/// Whoever has goes on from there, whatever this says.
public enum RoomStart: Hashable, Sendable {
    /// With what comes from now on.
    case now
    /// With so many of the last entries.
    case last(Int)
    /// With all that the hub retains, as far as the store keeps it: see ``RoomStore/entriesPerRoom``.
    case beginning

    /// With the last 50 entries.
    public static let last = RoomStart.last(50)

    var wish: JoinWish.Start {
        switch self {
        case .now: .now
        case .last(let count): .last(Int64(clamping: max(count, 0)))
        case .beginning: .beginning
        }
    }
}
