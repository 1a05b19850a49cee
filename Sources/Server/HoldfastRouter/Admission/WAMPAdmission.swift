public import CodecCore
public import WAMPCore

/// Decides who may join a router.
public protocol WAMPAuthenticator: Sendable {
    /// Looks at what a client says of itself.
    ///
    /// It runs beside the router, which waits for ``WAMPRouterConfiguration/Limits/authentication`` and then refuses; the task is
    /// cancelled then, and when the client goes away. What is thrown is a refusal too, and its words go to the router's log only.
    func examine(_ applicant: WAMPApplicant) async throws -> WAMPAdmission
}

/// A client that wants to join.
public struct WAMPApplicant: Hashable, Sendable {
    /// The realm that it wants to join.
    public let realm: String
    /// All that its hello says.
    public let details: ValueMap

    /// A client.
    public init(realm: String, details: ValueMap = ValueMap()) { (self.realm, self.details) = (realm, details) }

    /// Who it says it is.
    public var authID: String? { details["authid"]?.string }
    /// As what it wants to join.
    public var authRole: String? { details["authrole"]?.string }
    /// The methods by which it can prove who it is, the best first; none: anonymous.
    public var methods: [String] { details["authmethods"]?.items?.compactMap(\.string) ?? [] }
    /// What the methods say beforehand.
    public var extra: ValueMap { details["authextra"]?.entries ?? ValueMap() }
}

/// What becomes of a client that wants to join.
public enum WAMPAdmission: Sendable {
    /// It joins as this.
    case accepted(RouterPrincipal)
    /// It has to prove who it is: the method, what the challenge says, and who looks at the answer.
    case challenged(
        method: String, extra: ValueMap, answer: @Sendable (_ signature: String, _ extra: ValueMap) async throws -> WAMPAdmission)
    /// It may not: why, as a URI such as `wamp.error.authentication_failed`, and in words that it is told.
    case refused(reason: String, message: String)
}

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
