import CodecCore
import MachineCore

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
