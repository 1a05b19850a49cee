public import CodecCore
public import WAMPCore

/// Decides which clients may join a router.
public protocol WAMPAuthenticator: Sendable {
    /// Examines what a client claims about itself.
    ///
    /// It runs concurrently with the router, which waits for ``WAMPRouterConfiguration/Limits/authentication`` and then refuses. The task
    /// is cancelled then, and when the client disconnects. A thrown error is a refusal too; its text is only logged by the router.
    func examine(_ applicant: WAMPApplicant) async throws -> WAMPAdmission
}

/// A client that wants to join.
public struct WAMPApplicant: Hashable, Sendable {
    /// The realm that it wants to join.
    public let realm: String
    /// All details of its HELLO.
    public let details: ValueMap

    /// Creates an applicant.
    public init(realm: String, details: ValueMap = ValueMap()) { (self.realm, self.details) = (realm, details) }

    /// The user that it claims to be.
    public var authID: String? { details["authid"]?.string }
    /// The role in which it wants to join.
    public var authRole: String? { details["authrole"]?.string }
    /// The authentication methods that it supports, best first; empty for anonymous.
    public var methods: [String] { details["authmethods"]?.items?.compactMap(\.string) ?? [] }
    /// The additional data of the methods.
    public var extra: ValueMap { details["authextra"]?.entries ?? ValueMap() }
}

/// The decision on a client that wants to join.
public enum WAMPAdmission: Sendable {
    /// It joins as this principal.
    case accepted(RouterPrincipal)
    /// It must prove its identity: the method, the data of the challenge, and the function that checks the answer.
    case challenged(
        method: String, extra: ValueMap, answer: @Sendable (_ signature: String, _ extra: ValueMap) async throws -> WAMPAdmission)
    /// It may not join: the reason as a URI such as `wamp.error.authentication_failed`, and a message for the client.
    case refused(reason: String, message: String)
}

/// An action that a session requests from a router.
public enum WAMPAction: String, Hashable, Sendable, CaseIterable {
    /// Publish to a topic.
    case publish
    /// Subscribe to a topic or a topic pattern.
    case subscribe
    /// Call a procedure.
    case call
    /// Register a procedure or a procedure pattern.
    case register
}

/// Whether a session may do what it requests.
public struct WAMPPermission: Hashable, Sendable {
    /// The reason for the refusal, as a URI; nil if it is allowed.
    public var refusal: String?
    /// Whether the caller or publisher is disclosed to receivers; nil to follow the session's own request.
    public var discloses: Bool?

    /// Allowed.
    public static let allowed = WAMPPermission(refusal: nil, discloses: nil)
    /// Allowed, with or without disclosing the session to receivers.
    public static func allowed(discloses: Bool) -> WAMPPermission { WAMPPermission(refusal: nil, discloses: discloses) }
    /// Refused with `wamp.error.not_authorized`.
    public static let denied = WAMPPermission(refusal: WAMPURI.Error.notAuthorized, discloses: nil)
}

/// A session, as seen by the authorization.
public struct RouterSession: Hashable, Sendable {
    /// The session id.
    public let id: WAMPID
    /// The realm that it has joined.
    public let realm: String
    /// The authenticated user.
    public let authID: String
    /// The role in which it joined.
    public let authRole: String
}
