import CodecCore
import MachineCore

// WAMP, "Registering and Unregistering", "Pattern-based Registrations" and "Shared Registration".
extension Dealer {
    /// A session offers a procedure, or a pattern of them.
    ///
    /// - Returns: How the protocol was broken, or nil.
    mutating func register(
        _ request: WAMPID, _ options: ValueMap, _ procedure: String, by callee: Participant, room: KeepingRoom = .unbounded,
        at now: Moment, into effects: inout [RouterEffect]
    ) -> String? {
        do throws(Fault) {
            let wish = try RegisterWish(options)
            try check(procedure, wish, of: callee)
            var id = procedures[procedure, wish.match]
            if let taken = id, wish.takesOver, policy.quirks.allowsTakeover {
                _ = revoke(taken, reason: "taken over", into: &effects)
                id = nil
            }
            guard room.holds(KeepingRoom.weight(of: procedure, wish.match)) else {
                throw .refused(uri: room.refusal.uri, room.refusal.words)
            }
            if let registration = id.flatMap({ registrations[$0] }) { try join(registration, as: wish, by: callee) }
            let registration = id ?? create(procedure, wish, by: callee.session, at: now)
            registrations[registration]?.add(callee.session, isBounded: wish.offer.capacity != nil)
            var offer = wish.offer
            // Who comes back may still have calls of the time before.
            if id != nil, offer.capacity != nil { offer.load = load(of: callee.session, through: registration) }
            members[callee.session, default: Member(callee)].offers[registration] = offer
            hold(KeepingRoom.weight(of: procedure, wish.match), by: callee.session)
            tell(.registered(callee.session, registration: registration))
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

    /// Takes a registration away from all its callees; calls of it that wait go on.
    ///
    /// - Returns: Whether there was one of this id.
    mutating func revoke(_ id: WAMPID, reason: String, into effects: inout [RouterEffect]) -> Bool {
        guard let callees = registrations[id]?.callees else { return false }
        for session in callees {
            members[session]?.offers[id] = nil
            // To one who does not know of it, "the Dealer MUST NOT send an UNREGISTERED message".
            if let callee = members[session]?.participant, callee.abilities.contains(.lostRegistrations), !policy.quirks.concealsRevocation
            {
                let details: ValueMap = ["registration": Value(id), "reason": .text(reason)]
                effects.append(.send(.unregistered(request: 0, details: details), to: callee.connection))
            }
            detach(session, from: id)
        }
        return true
    }

    /// Removes a callee, and with the last one the registration.
    mutating func detach(_ session: WAMPID, from id: WAMPID) {
        if let offered = registrations[id] { hold(-KeepingRoom.weight(of: offered.uri, offered.match), by: session) }
        registrations[id]?.remove(session)
        tell(.unregistered(session, registration: id))
        guard let registration = registrations[id], registration.callees.isEmpty else { return }
        registrations[id] = nil
        procedures[registration.uri, registration.match] = nil
        tell(.registrationDeleted(by: session, registration: id))
    }

    private mutating func hold(_ bytes: Int, by session: WAMPID) {
        keptBytes += bytes
        members[session]?.offerBytes += bytes
    }

    /// What the meta API says of a registration.
    func details(of registration: Registration) -> ValueMap {
        [
            "id": Value(registration.id), "created": .text("\(policy.time(at: registration.created))"), "uri": .text(registration.uri),
            "match": .text(registration.match.rawValue), "invoke": .text(registration.sharing.rawValue),
        ]
    }

    /// How many calls a session has through a registration.
    private func load(of session: WAMPID, through registration: WAMPID) -> Int {
        let invocations = members[session]?.invocations ?? [:]
        return invocations.count { request, key in
            guard let call = members[key.caller]?.calls[key.request] else { return false }
            let invocation = Invocation(callee: session, request: request, registration: registration)
            return call.invocation == invocation || call.others.contains(invocation)
        }
    }

    private mutating func create(_ uri: String, _ wish: RegisterWish, by session: WAMPID, at now: Moment) -> WAMPID {
        var id = chance.nextWAMPID()
        while registrations[id] != nil { id = chance.nextWAMPID() }
        let registration = Registration(id: id, uri: uri, match: wish.match, sharing: wish.sharing, created: now)
        registrations[id] = registration
        procedures[uri, wish.match] = id
        if policy.hasMetaAPI { tell(.registrationCreated(by: session, details: details(of: registration))) }
        return id
    }

    private mutating func tell(_ event: MetaEvent) {
        if policy.hasMetaAPI { metaEvents.append(event) }
    }

    private func check(_ procedure: String, _ wish: RegisterWish, of callee: Participant) throws(Fault) {
        guard policy.allows(pattern: procedure, wish.match), !WAMPURI.isReserved(procedure) else {
            throw .refused(uri: WAMPURI.Error.invalidURI, "no procedure can be called this")
        }
        guard (members[callee.session]?.offers.count ?? 0) < policy.maximumRegistrations else {
            throw .refused(uri: WAMPURI.Error.unavailable, "too many registrations")
        }
        if wish.offer.wantsCaller, policy.discloses == false {
            throw .refused(uri: WAMPURI.Error.optionNotAllowed, "this router names no callers")
        }
    }

    /// Whether a procedure that is offered can be offered by one more.
    private func join(_ registration: Registration, as wish: RegisterWish, by callee: Participant) throws(Fault) {
        // All "subsequent attempts to register a procedure for the URI where the value for this option does not match" fail.
        guard wish.sharing != .single, registration.sharing == wish.sharing, members[callee.session]?.offers[registration.id] == nil else {
            throw .refused(uri: WAMPURI.Error.procedureAlreadyExists, "it is registered as \(registration.sharing.rawValue)")
        }
    }
}
