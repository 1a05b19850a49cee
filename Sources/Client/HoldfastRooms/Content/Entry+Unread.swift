import RoomCore

extension Entry {
    /// Whether the entry is a message of another user that counts as unread.
    ///
    /// The user is nil until the hub has sent our user name, so the device is compared too.
    func countsAsUnread(for user: UserName?, _ device: DeviceID?) -> Bool {
        self.user != user && self.device != device && !type.hasPrefix("holdfast.")
    }
}
