import CodecCore
import MachineCore

// WAMP, "Registering and Unregistering", "Pattern-based Registrations" and "Shared Registration".
extension Dealer {
    /// Handles a REGISTER for a procedure or a pattern of procedures.
    ///
    /// - Returns: A description of a protocol violation, or nil.
    mutating func register(
        _ request: WAMPID, _ options: ValueMap, _ procedure: String, by callee: Participant, room: RetentionBudget = .unbounded,
        at now: Moment, into effects: inout [RouterEffect]
    ) -> String? {
        do throws(Fault) {
            let terms = try RegisterRequest(options)
            try check(procedure, terms, of: callee)
            var id = procedures[procedure, terms.match]
            if let taken = id, terms.takesOver, policy.quirks.allowsTakeover {
                _ = revoke(taken, reason: "taken over", into: &effects)
                id = nil
            }
            guard room.holds(RetentionBudget.weight(of: procedure, terms.match)) else {
                throw .refused(uri: room.refusal.uri, room.refusal.words)
            }
            if let registration = id.flatMap({ registrations[$0] }) { try join(registration, as: terms, by: callee) }
            let registration = id ?? create(procedure, terms, by: callee.session, at: now)
            registrations[registration]?.add(callee.session, isBounded: terms.offer.capacity != nil)
            var offer = terms.offer
            // A callee that registers again may still have earlier calls.
            if id != nil, offer.capacity != nil { offer.load = load(of: callee.session, through: registration) }
            members[callee.session, default: Member(callee)].offers[registration] = offer
            hold(RetentionBudget.weight(of: procedure, terms.match), by: callee.session)
            notify(.registered(callee.session, registration: registration))
            effects.append(.send(.registered(request: request, registration: registration), to: callee.connection))
            return nil
        } catch {
            return answer(error, .register, request, of: callee, into: &effects)
        }
    }

    mutating func unregister(
        _ request: WAMPID, registration: WAMPID, by callee: Participant, into effects: inout [RouterEffect]
    ) {
        guard members[callee.session]?.offers.removeValue(forKey: registration) != nil else {
            let message = "this session has no registration \(registration)"
            return effects.append(.refuse(.unregister, request, of: callee, WAMPURI.Error.noSuchRegistration, message))
        }
        detach(callee.session, from: registration)
        effects.append(.send(.unregistered(request: request, details: [:]), to: callee.connection))
    }

    /// Revokes a registration from all its callees; pending calls continue.
    ///
    /// - Returns: Whether there was such a registration.
    mutating func revoke(_ id: WAMPID, reason: String, into effects: inout [RouterEffect]) -> Bool {
        guard let callees = registrations[id]?.callees else { return false }
        for session in callees {
            members[session]?.offers[id] = nil
            // To a callee without this feature, "the Dealer MUST NOT send an UNREGISTERED message".
            if let callee = members[session]?.participant, callee.abilities.contains(.lostRegistrations), !policy.quirks.concealsRevocation
            {
                let details: ValueMap = ["registration": Value(id), "reason": .text(reason)]
                effects.append(.send(.unregistered(request: 0, details: details), to: callee.connection))
            }
            detach(session, from: id)
        }
        return true
    }

    /// Removes a callee from a registration; with the last callee, removes the registration.
    mutating func detach(_ session: WAMPID, from id: WAMPID) {
        if let offered = registrations[id] { hold(-RetentionBudget.weight(of: offered.uri, offered.match), by: session) }
        registrations[id]?.remove(session)
        notify(.unregistered(session, registration: id))
        guard let registration = registrations[id], registration.callees.isEmpty else { return }
        registrations[id] = nil
        procedures[registration.uri, registration.match] = nil
        notify(.registrationDeleted(by: session, registration: id))
    }

    private mutating func hold(_ bytes: Int, by session: WAMPID) {
        keptBytes += bytes
        members[session]?.offerBytes += bytes
    }

    /// Returns the details of a registration for the meta API.
    func details(of registration: Registration) -> ValueMap {
        [
            "id": Value(registration.id), "created": .text("\(policy.time(at: registration.created))"), "uri": .text(registration.uri),
            "match": .text(registration.match.rawValue), "invoke": .text(registration.sharing.rawValue),
        ]
    }

    /// Returns the number of calls that a session has through a registration.
    private func load(of session: WAMPID, through registration: WAMPID) -> Int {
        let invocations = members[session]?.invocations ?? [:]
        return invocations.count { request, key in
            guard let call = members[key.caller]?.calls[key.request] else { return false }
            let invocation = Invocation(callee: session, request: request, registration: registration)
            return call.invocation == invocation || call.others.contains(invocation)
        }
    }

    private mutating func create(_ uri: String, _ terms: RegisterRequest, by session: WAMPID, at now: Moment) -> WAMPID {
        var id = chance.nextWAMPID()
        while registrations[id] != nil { id = chance.nextWAMPID() }
        let registration = Registration(id: id, uri: uri, match: terms.match, sharing: terms.sharing, created: now)
        registrations[id] = registration
        procedures[uri, terms.match] = id
        if policy.hasMetaAPI { notify(.registrationCreated(by: session, details: details(of: registration))) }
        return id
    }

    private mutating func notify(_ event: MetaEvent) {
        if policy.hasMetaAPI { metaEvents.append(event) }
    }

    private func check(_ procedure: String, _ terms: RegisterRequest, of callee: Participant) throws(Fault) {
        guard policy.allows(pattern: procedure, terms.match), !WAMPURI.isReserved(procedure) else {
            throw .refused(uri: WAMPURI.Error.invalidURI, "the procedure URI is invalid")
        }
        guard (members[callee.session]?.offers.count ?? 0) < policy.maximumRegistrations else {
            throw .refused(uri: WAMPURI.Error.unavailable, "too many registrations")
        }
        if terms.offer.wantsCaller, policy.discloses == false {
            throw .refused(uri: WAMPURI.Error.optionNotAllowed, "this router does not disclose callers")
        }
    }

    /// Checks whether another callee may join an existing registration.
    private func join(_ registration: Registration, as terms: RegisterRequest, by callee: Participant) throws(Fault) {
        // All "subsequent attempts to register a procedure for the URI where the value for this option does not match" fail.
        guard terms.sharing != .single, registration.sharing == terms.sharing, members[callee.session]?.offers[registration.id] == nil
        else {
            throw .refused(uri: WAMPURI.Error.procedureAlreadyExists, "it is registered as \(registration.sharing.rawValue)")
        }
    }
}
