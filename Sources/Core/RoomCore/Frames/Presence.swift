/// How somebody wants to be seen.
public struct Presence: Hashable, Sendable {
    /// `online`, `away`, or the app's own; at most 64 bytes.
    public var status: String
    /// JSON of the app's own, at most 1 KiB; nil: none.
    public var meta: [UInt8]?

    /// How somebody wants to be seen.
    public init(status: String = "online", meta: [UInt8]? = nil) { (self.status, self.meta) = (status, meta) }
}

/// One connection that is present in a room.
public struct PresentMember: Hashable, Sendable {
    /// The hub's name of the connection.
    public var connection: String
    /// Whose it is.
    public var user: UserName
    /// How it wants to be seen.
    public var presence: Presence

    /// A connection that is present.
    public init(connection: String, user: UserName, presence: Presence) {
        (self.connection, self.user, self.presence) = (connection, user, presence)
    }
}
