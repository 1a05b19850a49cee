import RoomCore

extension Entry {
    /// Whether it is a message of somebody else that wants to be read; who we are may be unknown, before the hub has said it.
    func countsAsUnread(for user: UserName?, _ device: DeviceID?) -> Bool {
        self.user != user && self.device != device && !type.hasPrefix("holdfast.")
    }
}
