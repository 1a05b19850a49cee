/// What the nodes of a hub tell each other and nobody stores.
///
/// A node hears its own messages too, and acts on them only then.
package enum BusMessage: Hashable, Sendable {
    /// Somebody types, or has stopped.
    case typing(RoomName, UserName, Bool)
    /// Somebody's signal.
    case signal(RoomName, from: UserName, connection: String, Signal)
    /// The sender's segment of those present in a room has changed, or is told again because it is asked for or time has passed.
    case segment(HubFrame.RoomMembers)
}
