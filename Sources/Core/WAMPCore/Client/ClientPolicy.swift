internal import CodecCore

/// Who a client is, and within which bounds it works.
public struct ClientPolicy: Hashable, Sendable {
    /// The realm to join.
    public var realm: String
    /// Who the app says it is, or nil.
    public var authID: String?
    /// As what it wants to join, or nil.
    public var authRole: String?
    /// The methods by which it can prove who it is, the best first; none: anonymous.
    public var authMethods: [String]
    /// What the client calls itself.
    public var agent: String
    /// How long joining may take from the opening of the connection.
    public var joinPatience: Duration
    /// How long the router's answers to SUBSCRIBE, UNSUBSCRIBE, REGISTER and UNREGISTER may take.
    ///
    /// Who comes for a topic or procedure about which one is owed for longer gets another connection.
    public var answerPatience: Duration
    /// How long the router's answer to GOODBYE may take; the connection ends then.
    public var goodbyePatience: Duration
    /// How many requests may wait for the session, or for their answer, at once.
    public var maximumWaiting: Int
    /// How many of a procedure's invocations may run at once; more are refused with `wamp.error.unavailable`.
    public var maximumInvocations: Int
    /// How long the first pause is before a registration that was refused is tried again; it doubles up to 5 s.
    public var retryPause: Duration

    /// A policy: 10 s to join, 10 s to be answered, 2 s for GOODBYE, 65,536 waiting, 1,024 invocations a procedure, 100 ms.
    public init(
        realm: String, authID: String? = nil, authRole: String? = nil, authMethods: [String] = [],
        agent: String = "holdfast", joinPatience: Duration = .seconds(10), answerPatience: Duration = .seconds(10),
        goodbyePatience: Duration = .seconds(2),
        maximumWaiting: Int = 65536, maximumInvocations: Int = 1024, retryPause: Duration = .milliseconds(100)
    ) {
        (self.realm, self.authID, self.authRole) = (realm, authID, authRole)
        (self.authMethods, self.agent) = (authMethods, agent)
        (self.joinPatience, self.answerPatience, self.goodbyePatience) = (joinPatience, answerPatience, goodbyePatience)
        (self.maximumWaiting, self.maximumInvocations, self.retryPause) = (maximumWaiting, maximumInvocations, retryPause)
    }
}

extension ClientPolicy {
    /// The details of HELLO: who it is, and what this library does in each role.
    ///
    /// Source: WAMP, "Feature Announcement".
    func hello(authExtra: ValueMap) -> ValueMap {
        var details: ValueMap = [
            "agent": .text(agent),
            "roles": [
                "publisher": Self.role("subscriber_blackwhite_listing", "publisher_exclusion", "publisher_identification"),
                "subscriber": Self.role("publisher_identification", "pattern_based_subscription", "subscription_revocation"),
                "caller": Self.role(
                    "caller_identification", "call_canceling", "call_timeout", "progressive_call_results", "progressive_call_invocations"),
                "callee": Self.role(
                    "caller_identification", "call_canceling", "progressive_call_results", "progressive_call_invocations",
                    "pattern_based_registration", "shared_registration", "registration_revocation"),
            ],
        ]
        if !authMethods.isEmpty { details["authmethods"] = .array(authMethods.map { .text($0) }) }
        if let authID { details["authid"] = .text(authID) }
        if let authRole { details["authrole"] = .text(authRole) }
        if !authExtra.isEmpty { details["authextra"] = .map(authExtra) }
        return details
    }

    private static func role(_ features: String...) -> Value {
        .map(["features": .map(ValueMap(features.map { ValueMap.Entry(key: .text($0), value: true) }))])
    }
}
