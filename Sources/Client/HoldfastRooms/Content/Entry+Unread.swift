import RoomCore

extension Entry {
    /// Whether it is a message of somebody else that wants to be read.
    func countsAsUnread(for user: UserName?) -> Bool { self.user != user && !type.hasPrefix("holdfast.") }
}
