import CodecCore
import MachineCore

// WAMP, "Meta API".
extension RouterMachine {
    /// Handles a call of a procedure of the router itself; its request is new and counted.
    mutating func callMeta(
        _ request: WAMPID, _ options: ValueMap, _ procedure: String, _ arguments: WAMPArguments, by caller: Participant, in place: Int,
        at now: Moment, into effects: inout [RouterEffect]
    ) {
        do throws(MetaRefusal) {
            guard options["progress"]?.bool != true else {
                // Further parts of the call are late, which is not a violation.
                realms[place]?.dealer.abandon(request, of: caller)
                throw MetaRefusal(WAMPURI.Error.featureNotSupported, "the router itself does not accept progressive input")
            }
            guard let known = MetaProcedure(rawValue: procedure) else {
                throw MetaRefusal(WAMPURI.Error.noSuchProcedure, "no callee has registered \(procedure)")
            }
            let call = try MetaCall(arguments, carriesEvent: known == .addTestament)
            let result = try perform(known, call, by: caller, in: place, at: now, into: &effects)
            effects.append(.send(.result(request: request, details: [:], result), to: caller.connection))
        } catch {
            effects.append(.refuse(.call, request, of: caller, error.uri, error.words))
        }
    }

    /// Publishes the pending meta events of a realm.
    mutating func publishMetaEvents(in place: Int, at now: Moment, into effects: inout [RouterEffect]) {
        for event in realms[place]?.takeNews() ?? [] {
            realms[place]?.broker.publishMeta(event.topic, event.arguments, at: now, into: &effects)
        }
    }

    private mutating func perform(
        _ procedure: MetaProcedure, _ call: MetaCall, by caller: Participant, in place: Int, at now: Moment,
        into effects: inout [RouterEffect]
    ) throws(MetaRefusal) -> WAMPArguments {
        guard policy.allowsKilling || !procedure.kills else {
            throw MetaRefusal(WAMPURI.Error.notAuthorized, "sessions may not end others on this router")
        }
        switch procedure {
        case .sessionCount: return WAMPArguments([Value(UInt64(countSessions(in: place, ofRoles: try call.roles())))])
        case .sessionList: return WAMPArguments([MetaCall.ids(try listSessions(call, in: place))])
        case .sessionGet:
            guard let details = details(ofSession: try call.id(), in: place) else { throw Self.noSuchSession }
            return WAMPArguments([.map(details)])
        case .sessionKill:
            let id = try call.id()
            guard id != caller.session, details(ofSession: id, in: place) != nil else { throw Self.noSuchSession }
            try kill([id], call, at: now, into: &effects)
            return .none
        case .sessionKillByAuthID:
            let name = try call.text(0, "an authid")
            let killed = others(than: caller, in: place) { $0.authID == name }
            try kill(killed, call, at: now, into: &effects)
            return WAMPArguments([MetaCall.ids(killed)])
        case .sessionKillByAuthRole:
            let role = try call.text(0, "an authrole")
            let killed = others(than: caller, in: place) { $0.authRole == role }
            try kill(killed, call, at: now, into: &effects)
            return WAMPArguments([Value(UInt64(killed.count))])
        case .sessionKillAll:
            let killed = others(than: caller, in: place) { _ in true }
            try kill(killed, call, at: now, into: &effects)
            return WAMPArguments([Value(UInt64(killed.count))])
        case .addTestament:
            try addTestament(call, of: caller)
            return .none
        case .flushTestaments:
            let isDetached = try isDetached(call)
            flushTestaments(of: caller.connection) { $0.removeAll(isDetached: isDetached) }
            return .none
        default:
            // The session of a caller has a realm.
            guard let realm = realms[place] else { throw Self.noSuchSession }
            return try realm.answer(procedure, call, for: caller)
        }
    }

    private static let noSuchSession = MetaRefusal(WAMPURI.Error.noSuchSession, "there is no such session in this realm")

    // MARK: Sessions

    private func listSessions(_ call: MetaCall, in place: Int) throws(MetaRefusal) -> [WAMPID] {
        sessions(in: place, ofRoles: try call.roles()).map(\.session)
    }

    private func others(than caller: Participant, in place: Int, where isMeant: (Participant) -> Bool) -> [WAMPID] {
        sessions(in: place).filter { $0.session != caller.session && isMeant($0) }.map(\.session)
    }

    private mutating func kill(
        _ sessions: [WAMPID], _ call: MetaCall, at now: Moment, into effects: inout [RouterEffect]
    ) throws(MetaRefusal) {
        let reason = call["reason"].map { $0.string ?? "" } ?? WAMPURI.Close.killed
        guard policy.allows(uri: reason) else { throw MetaRefusal(WAMPURI.Error.invalidURI, "the reason is not a valid URI") }
        let message = try call.text("message")
        for session in sessions { kill(session, reason: reason, message: message, at: now, into: &effects) }
    }

    // MARK: Testaments

    private mutating func addTestament(_ call: MetaCall, of caller: Participant) throws(MetaRefusal) {
        let topic = try call.text(0, "a topic")
        guard let list = (call[1] ?? []).items, let keywords = (call[2] ?? [:]).entries,
            let options = (call["publish_options"] ?? [:]).entries
        else { throw .argument("a testament needs a topic, a list, a map, and a map of options") }
        let isDetached = try isDetached(call)
        let testament: BrokerPublication
        do throws(OptionError) {
            testament = try BrokerPublication(topic, WAMPArguments(list, keywords: keywords), options: options)
        } catch { throw .argument(error.words) }
        if let (uri, words) = addTestament(testament, isDetached: isDetached, of: caller) { throw MetaRefusal(uri, words) }
    }

    private func isDetached(_ call: MetaCall) throws(MetaRefusal) -> Bool {
        switch try call.text("scope") {
        case nil, "destroyed"?: false
        case "detached"?: true
        default: throw .argument("the scope must be detached or destroyed")
        }
    }
}

/// Sessions in the meta API. Source: WAMP, "Session Meta API".
extension RouterMachine {
    /// Returns the sessions of a realm in the order of their IDs; with roles, only sessions with one of them.
    func sessions(in place: Int, ofRoles roles: Set<String>? = nil) -> [Participant] {
        guard let realm = realms[place] else { return [] }
        let participants = realm.sessions.values.compactMap { peers[$0]?.session?.participant }
        return participants.filter { roles?.contains($0.authRole) ?? true }.sorted { $0.session < $1.session }
    }

    /// Returns the number of sessions in a realm; with roles, only sessions with one of them.
    func countSessions(in place: Int, ofRoles roles: Set<String>?) -> Int {
        guard let realm = realms[place] else { return 0 }
        guard let roles else { return realm.sessions.count }
        return realm.sessions.values.count { peers[$0]?.session.map { roles.contains($0.participant.authRole) } ?? false }
    }

    /// Returns a session's details: `session`, `authid`, `authrole`, `authmethod`, `authprovider`, `transport`; nil if it is not in the realm.
    func details(ofSession id: WAMPID, in place: Int? = nil) -> ValueMap? {
        guard let connection = sessions[id], let peer = peers[connection], let session = peer.session else { return nil }
        guard place == nil || session.realm == place else { return nil }
        return [
            "session": Value(id), "authid": .text(session.participant.authID), "authrole": .text(session.participant.authRole),
            "authmethod": .text(session.principal.authMethod), "authprovider": .text(session.principal.authProvider),
            "transport": .map(peer.transport),
        ]
    }

    /// Adds a testament to a session.
    ///
    /// - Returns: The URI and text of an error, or nil.
    mutating func addTestament(_ testament: BrokerPublication, isDetached: Bool, of participant: Participant) -> (
        uri: String, words: String
    )? {
        guard let session = peers[participant.connection]?.session, let realm = realms[session.realm] else { return nil }
        let place = session.realm
        if let objection = realm.broker.objection(to: testament) { return objection }
        guard session.testaments.count < policy.maximumTestaments else { return (WAMPURI.Error.unavailable, "too many testaments") }
        let room = room(for: participant, in: place, needing: testament.weight)
        guard room.holds(testament.weight) else { return room.refusal }
        peers[participant.connection]?.session?.testaments.add(testament, isDetached: isDetached)
        realms[place]?.testamentBytes += testament.weight
        noteKept(in: place, of: participant)
        return nil
    }

    /// Removes testaments of a session.
    mutating func flushTestaments(of connection: RouterConnection, _ flush: (inout Testaments) -> Void) {
        guard var session = peers[connection]?.session else { return }
        let before = session.testaments.bytes
        flush(&session.testaments)
        realms[session.realm]?.testamentBytes += session.testaments.bytes - before
        peers[connection]?.session = session
        noteKept(in: session.realm, of: session.participant)
    }

    /// Returns the IDs of the subscription and the registration with this URI or pattern in a realm, if they exist.
    package func ids(of uri: String, _ match: WAMPMatch, in realm: String) -> [WAMPID] {
        guard let place = places[realm], let realm = realms[place] else { return [] }
        return [realm.broker.index[uri, match], realm.dealer.procedures[uri, match]].compactMap(\.self)
    }

    /// Returns the topic or pattern of a subscription.
    package func topic(ofSubscription id: WAMPID, in realm: String) -> (uri: String, match: WAMPMatch)? {
        guard let place = places[realm], let found = realms[place]?.broker.subscriptions[id] else { return nil }
        return (found.uri, found.match)
    }
}
