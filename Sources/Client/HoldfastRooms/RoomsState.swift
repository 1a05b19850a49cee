public import RoomCore

/// How ``Rooms`` stand with their hub.
public enum RoomsState: Sendable {
    /// What is stored is opened, or a connection is being made.
    case connecting
    /// The hub knows us, as this user.
    case online(UserName)
    /// There is no connection; another attempt follows by itself.
    case offline
    /// Over for good: nil if the app has closed.
    case closed(RoomsError?)

    /// Whether the hub knows us.
    public var isOnline: Bool { if case .online = self { true } else { false } }
}
