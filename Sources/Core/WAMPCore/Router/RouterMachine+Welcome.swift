import CodecCore

extension RouterMachine {
    /// The details of a WELCOME: who has joined, and what there is here.
    func welcome(to principal: RouterPrincipal, in realm: String) -> ValueMap {
        var details: ValueMap = [
            "realm": .text(realm), "authid": principal.authID.map { .text($0) } ?? .null, "authrole": .text(principal.authRole),
            "authmethod": .text(principal.authMethod), "authprovider": .text(principal.authProvider),
        ]
        if !principal.authExtra.entries.isEmpty { details["authextra"] = .map(principal.authExtra) }
        details["roles"] = ["broker": ["features": .map(brokerFeatures)], "dealer": ["features": .map(dealerFeatures)]]
        details["agent"] = .text(policy.agent)
        return details
    }

    private var brokerFeatures: ValueMap {
        var names = [
            "event_retention", "pattern_based_subscription", "publisher_exclusion", "publisher_identification",
            "subscriber_blackwhite_listing",
        ]
        if !policy.quirks.concealsRevocation { names.append("subscription_revocation") }
        if policy.hasMetaAPI { names += ["session_meta_api", "subscription_meta_api"] }
        if policy.hasMetaAPI, policy.historyLength > 0 { names.append("event_history") }
        return Self.features(names)
    }

    private var dealerFeatures: ValueMap {
        // Both spellings are in use.
        var names = [
            "call_canceling", "call_cancelling", "caller_identification", "pattern_based_registration", "progressive_call_results",
            "shared_registration",
        ]
        if !policy.quirks.invokesEachPart { names.append("progressive_call_invocations") }
        if !policy.quirks.onlyForwardsTimeouts { names.append("call_timeout") }
        if !policy.quirks.concealsRevocation { names.append("registration_revocation") }
        if policy.hasMetaAPI { names += ["registration_meta_api", "session_meta_api", "testament_meta_api"] }
        return Self.features(names)
    }

    private static func features(_ names: [String]) -> ValueMap {
        ValueMap(names.sorted().map { ValueMap.Entry(key: .text($0), value: true) })
    }
}
