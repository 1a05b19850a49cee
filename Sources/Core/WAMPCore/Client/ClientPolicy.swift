internal import CodecCore

/// The identity and the limits of a WAMP client.
public struct ClientPolicy: Hashable, Sendable {
    /// The realm to join.
    public var realm: String
    /// The authid that the client announces, or nil.
    public var authID: String?
    /// The authrole with which the client wants to join, or nil.
    public var authRole: String?
    /// The authentication methods that the client supports, the best first; empty: anonymous.
    public var authMethods: [String]
    /// The client's name for the router.
    public var agent: String
    /// The time limit for joining, counted from the opening of the connection.
    public var joinPatience: Duration
    /// The time limit for the router's answers to SUBSCRIBE, UNSUBSCRIBE, REGISTER and UNREGISTER.
    ///
    /// If an answer for a topic or procedure is overdue and the app makes a new request for it, the client reconnects.
    public var answerPatience: Duration
    /// The time limit for the router's answer to GOODBYE; then the client ends the connection.
    public var goodbyePatience: Duration
    /// The maximum number of requests that wait for the session or for an answer at once.
    public var maximumWaiting: Int
    /// The maximum number of concurrent invocations of a procedure; the client refuses more with `wamp.error.unavailable`.
    public var maximumInvocations: Int
    /// The first pause before the client repeats a refused registration; it doubles up to 5 s.
    public var retryPause: Duration

    /// Creates a policy.
    ///
    /// The defaults: 10 s to join, 10 s for answers, 2 s for GOODBYE, 65,536 waiting requests, 1,024 invocations per procedure, a first
    /// pause of 100 ms.
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
    /// Returns the details of HELLO: the identity, and the features of this library in each role.
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
