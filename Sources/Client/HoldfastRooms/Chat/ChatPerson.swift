public import RoomCore

/// Somebody who is present in a chat; see ``ChatPresenting/people``.
public struct ChatPerson: Identifiable, Hashable, Sendable {
    /// Who.
    public var user: UserName
    /// Whether it is the own user, on this device or on another.
    public var isOwn: Bool

    /// The user.
    public var id: UserName { user }

    /// Somebody who is present.
    public init(user: UserName, isOwn: Bool) { (self.user, self.isOwn) = (user, isOwn) }
}
