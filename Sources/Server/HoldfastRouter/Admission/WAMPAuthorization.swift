public import WAMPCore

/// What a session asks a router to do.
public enum WAMPAction: String, Hashable, Sendable, CaseIterable {
    /// Publish to a topic.
    case publish
    /// Get the events of a topic, or of a pattern of them.
    case subscribe
    /// Call a procedure.
    case call
    /// Offer a procedure, or a pattern of them.
    case register
}

/// Whether a session may do what it asks for.
public struct WAMPPermission: Hashable, Sendable {
    /// Why it may not, as a URI; nil: it may.
    public var refusal: String?
    /// Whether receivers are told who calls or publishes; nil: as it wishes itself.
    public var discloses: Bool?

    /// It may.
    public static let allowed = WAMPPermission(refusal: nil, discloses: nil)
    /// It may, and who it is is told, or is not.
    public static func allowed(discloses: Bool) -> WAMPPermission { WAMPPermission(refusal: nil, discloses: discloses) }
    /// It may not: `wamp.error.not_authorized`.
    public static let denied = WAMPPermission(refusal: WAMPURI.Error.notAuthorized, discloses: nil)
}

/// A session as those know it who decide what it may do.
public struct RouterSession: Hashable, Sendable {
    /// Its id.
    public let id: WAMPID
    /// The realm that it has joined.
    public let realm: String
    /// Who it is.
    public let authID: String
    /// As what it joined.
    public let authRole: String
}
