internal import CodecCore

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
