import CodecCore
import MachineCore

/// Joining of clients. Source: WAMP, "Session Establishment".
extension RouterMachine {
    mutating func open(
        _ connection: RouterConnection, _ transport: ValueMap, _ address: String?, at now: Moment, into effects: inout [RouterEffect]
    ) {
        guard peers[connection] == nil else { return }
        guard !isStopping else { return effects.append(.close(connection, .stopping)) }
        peers[connection] = RouterPeer(transport: transport, address: address)
        alarms.set(.join(connection), at: now + policy.joinPatience)
    }

    /// Handles a message of a client that has not joined.
    mutating func greet(
        _ message: WAMPMessage, from connection: RouterConnection, in phase: RouterPeer.Phase, at now: Moment,
        into effects: inout [RouterEffect]
    ) {
        switch (message, phase) {
        case (.hello(let realm, let details), .silent):
            guard let abilities = PeerAbilities(hello: details) else {
                return violate(connection, "HELLO announces no role", at: now, into: &effects)
            }
            if let (reason, words) = refusal(ofRealm: realm, from: peers[connection]?.address) {
                return refuse(connection, reason: reason, words, into: &effects)
            }
            examine(connection, RouterPeer.Greeting(realm: realm, abilities: abilities), at: now)
            effects.append(.examine(connection, .hello(realm: realm, details: details)))
        case (.authenticate(let signature, let extra), .challenged(let greeting)):
            examine(connection, greeting, at: now)
            effects.append(.examine(connection, .answer(signature: signature, extra: extra)))
        case (.abort(_, let reason, _), _):
            // An ABORT is never answered.
            effects.append(.news(.refused(connection, reason: reason)))
            close(connection, .goodbye, into: &effects)
        default: violate(connection, "unexpected \(message.name)", at: now, into: &effects)
        }
    }

    private mutating func examine(_ connection: RouterConnection, _ greeting: RouterPeer.Greeting, at now: Moment) {
        peers[connection]?.phase = .examining(greeting)
        // The check has a time limit, too.
        alarms.set(.join(connection), at: now + policy.joinPatience)
    }

    mutating func take(_ verdict: RouterVerdict, of connection: RouterConnection, at now: Moment, into effects: inout [RouterEffect]) {
        // The client may have disconnected meanwhile.
        guard case .examining(let greeting) = peers[connection]?.phase else { return }
        switch verdict {
        case .accepted(let principal) where principal.hiddenCharacter != nil:
            refuse(
                connection, reason: WAMPURI.Error.authenticationFailed,
                "the name or the role contains an invisible character: \(principal.hiddenCharacter ?? "")", into: &effects)
        case .accepted(let principal): welcome(connection, greeting, as: principal, at: now, into: &effects)
        case .challenged(let method, let extra):
            peers[connection]?.phase = .challenged(greeting)
            alarms.set(.join(connection), at: now + policy.joinPatience)
            effects.append(.send(.challenge(method: method, extra: extra), to: connection))
        case .refused(WAMPURI.Error.noMatchingAuthMethod, let message):
            let reason = policy.quirks.refusesMethodsAs ?? WAMPURI.Error.noMatchingAuthMethod
            refuse(connection, reason: reason, message, into: &effects)
        case .refused(let reason, let message): refuse(connection, reason: reason, message, into: &effects)
        }
    }

    private mutating func welcome(
        _ connection: RouterConnection, _ greeting: RouterPeer.Greeting, as principal: RouterPrincipal, at now: Moment,
        into effects: inout [RouterEffect]
    ) {
        let address = peers[connection]?.address
        guard let place = place(of: greeting.realm, from: address) else {
            let (reason, words) = refusal(ofRealm: greeting.realm, from: address) ?? (WAMPURI.Error.unavailable, "too many realms")
            return refuse(connection, reason: reason, words, into: &effects)
        }
        var id = chance.nextWAMPID()
        while sessions[id] != nil { id = chance.nextWAMPID() }
        var principal = principal
        // A made-up name differs for each session.
        let isNamed = principal.authID != nil && principal.authMethod != "anonymous"
        let name = principal.authID ?? String(chance.next(), radix: 36)
        principal.authID = name
        let holders = RetentionOwner.holders(of: principal, isNamed: isNamed, address: address)
        let participant = Participant(
            connection: connection, session: id, authID: name, authRole: principal.authRole, abilities: greeting.abilities,
            holder: holders.first)
        var session = PeerSession(participant: participant, realm: place, principal: principal)
        session.holders = holders
        alarms.cancel(.join(connection))
        peers[connection]?.phase = .joined
        peers[connection]?.session = session
        sessions[id] = connection
        realms[place]?.sessions[id] = connection
        effects.append(.send(.welcome(session: id, details: welcome(to: principal, in: greeting.realm)), to: connection))
        effects.append(.news(.joined(id, realm: greeting.realm, authID: name, authRole: principal.authRole)))
        if policy.hasMetaAPI, let details = details(ofSession: id) { realms[place]?.broker.metaEvents.append(.joined(details: details)) }
        settle(place, at: now, into: &effects)
    }

    /// Refuses a client.
    mutating func refuse(_ connection: RouterConnection, reason: String, _ words: String, into effects: inout [RouterEffect]) {
        effects.append(.send(.abort(details: ["message": .text(words)], reason: reason, .none), to: connection))
        effects.append(.news(.refused(connection, reason: reason)))
        close(connection, .goodbye, into: &effects)
    }

    /// Returns the details of a WELCOME: the client's identity, and the router's features.
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
