/// What somebody may do in the rooms of a pattern.
public struct Grant: Hashable, Sendable {
    /// A room's name, or the beginning of names followed by `*`; `*` alone is every room.
    public var pattern: String
    /// What is granted there.
    public var rights: RoomRights

    /// A grant.
    public init(_ pattern: String, _ rights: RoomRights) { (self.pattern, self.rights) = (pattern, rights) }

    /// Whether it speaks of a room.
    public func covers(_ room: RoomName) -> Bool {
        let (pattern, name) = (pattern.utf8, room.text.utf8)
        return pattern.last == UInt8(ascii: "*") ? name.starts(with: pattern.dropLast()) : pattern.elementsEqual(name)
    }
}

/// Who somebody is, and what they may do, until when: what a token says.
public struct Identity: Hashable, Sendable {
    /// Who.
    public var user: UserName
    /// What they may do; the rights of all grants that cover a room add up.
    public var grants: [Grant]
    /// When the token ends, in milliseconds since 1970 UTC; nil: never.
    public var expires: Int64?

    /// Who somebody is.
    public init(user: UserName, grants: [Grant], expires: Int64?) { (self.user, self.grants, self.expires) = (user, grants, expires) }

    /// What they may do in a room.
    public func rights(in room: RoomName) -> RoomRights {
        grants.reduce(into: []) { rights, grant in if grant.covers(room) { rights.formUnion(grant.rights) } }
    }
}
