public import RoomCore

/// A user who is present in a chat; see ``ChatPresenting/people``.
public struct ChatPerson: Identifiable, Hashable, Sendable {
    /// The user's name.
    public var user: UserName
    /// Whether this is the own user, on this device or on another.
    public var isOwn: Bool

    /// The user's name.
    public var id: UserName { user }

    /// Creates a person.
    public init(user: UserName, isOwn: Bool) { (self.user, self.isOwn) = (user, isOwn) }
}
