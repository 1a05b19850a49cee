public import RoomCore

/// The state of the connection between ``Rooms`` and their hub.
public enum RoomsState: Sendable {
    /// The store is being opened, or the client is connecting.
    case connecting
    /// The hub has accepted the client as this user.
    case online(UserName)
    /// There is no connection; the client tries again by itself.
    case offline
    /// The rooms are closed for good; the error is nil if the app closed them.
    case closed(RoomsError?)

    /// Whether the hub has accepted the client.
    public var isOnline: Bool { if case .online = self { true } else { false } }
}
