extension Error {
    /// Whether there is no room on the disk.
    var isFull: Bool { self as? RoomStoreError == .full }
}
