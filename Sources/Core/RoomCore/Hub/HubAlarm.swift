extension HubMachine {
    /// What a hub waits for.
    enum Alarm: Hashable, Sendable {
        /// A connection has not said who it is.
        case hello(ConnectionID)
        /// A token ends.
        case expiry(ConnectionID)
        /// A client was congested for too long.
        case slow(ConnectionID)
        /// A device that was lost is no longer shown as present.
        case grace(OwnedDevice)
        /// A room is opened again.
        case reopen(RoomName)
        /// A room in which nobody is is let go.
        case release(RoomName)
        /// Changes of presence are told.
        case presence(RoomName)
        /// Those who wait for it are told all who are present.
        case segments(RoomName)
        /// All segments are told, and silent nodes are dropped.
        case heartbeat
        /// What a user took has flown back.
        case forgetUser(UserName)
        /// What an address took has flown back.
        case forgetAddress(String)
        /// What the log said of devices that are another's is to be asked anew.
        case forgetOwners
        /// The hub has waited long enough for what it had taken.
        case drain
    }
}
