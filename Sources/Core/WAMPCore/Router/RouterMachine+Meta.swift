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
