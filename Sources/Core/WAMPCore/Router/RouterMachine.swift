public import MachineCore

/// A router's side of WAMP: realms, sessions, broker and dealer.
///
/// It is strict: whoever breaks the protocol is told so with an ABORT and loses the connection. Source: WAMP, "Protocol Violations".
/// Nothing that a client sends grows without a bound of ``RouterPolicy``, and a client that does not go on is dropped after its patience.
public struct RouterMachine: Machine {
    /// What a moment is waited for.
    enum Alarm: Hashable, Sendable {
        /// A client has not joined in time.
        case join(RouterConnection)
        /// A client has not answered a goodbye.
        case goodbye(RouterConnection)
        /// The dealer of a realm wants to be woken.
        case dealer(realm: Int)
    }

    /// What it allows, and its bounds.
    public let policy: RouterPolicy
    var chance: SplitMix64
    var visits: [RouterConnection: Visit] = [:]
    /// Who has which session.
    var sessions: [WAMPID: RouterConnection] = [:]
    /// The realms; a place that is nil is free.
    var realms: [Realm?] = []
    /// Where each realm stands.
    var places: [String: Int] = [:]
    /// How many bytes all realms keep, about; see ``RouterPolicy/maximumKept``.
    var kept = 0
    /// How many bytes of them are kept for a user or an address whose sessions are present.
    var holdings: [KeepingHolder: Int] = [:]
    /// How many sessions have left.
    var leavings: UInt64 = 0
    var alarms = Alarms<Alarm>() { didSet { deadline = alarms.next } }
    var isStopping = false

    /// A router without sessions.
    ///
    /// - Parameters:
    ///   - policy: What it allows, and its bounds.
    ///   - seed: Where chance begins: ids of global scope follow from it. They are no secrets.
    public init(policy: RouterPolicy, seed: UInt64) { (self.policy, chance) = (policy, SplitMix64(seed: seed)) }

    /// Whether it remembers nothing of anybody.
    var isEmpty: Bool { visits.isEmpty && holdings.isEmpty && sessions.isEmpty && places.isEmpty && alarms.next == nil }

    /// How many sessions there are.
    public var sessionCount: Int { sessions.count }

    /// When to wake it if nothing else happens first.
    public private(set) var deadline: Moment?

    /// Applies what happened.
    public mutating func handle(_ input: RouterInput, at now: Moment, into effects: inout [RouterEffect]) {
        wake(at: now, into: &effects)
        switch input {
        case .opened(let connection, let transport, let address): open(connection, transport, address, at: now, into: &effects)
        case .received(let connection, let message): receive(message, from: connection, at: now, into: &effects)
        case .forbidden(let connection, let message, let reason):
            forbid(message, of: connection, reason: reason, at: now, into: &effects)
        case .undecodable(let connection, let error):
            guard !policy.quirks.ignoresMistakes else { return }
            violate(connection, "what came is no message: \(error)", at: now, into: &effects)
        case .closed(let connection): lose(connection, at: now, into: &effects)
        case .overrun(let connection): overrun(connection, at: now, into: &effects)
        case .undelivered(let connection, let message, let reason):
            giveUp(message, to: connection, reason: reason, at: now, into: &effects)
        case .examined(let connection, let verdict): take(verdict, of: connection, at: now, into: &effects)
        case .kill(let session, let reason, let message): kill(session, reason: reason, message: message, at: now, into: &effects)
        case .revoke(let realm, let id, let reason): revoke(id, in: realm, reason: reason, at: now, into: &effects)
        case .stop: stop(at: now, into: &effects)
        }
    }

    /// Applies the passing of time.
    public mutating func wake(at now: Moment, into effects: inout [RouterEffect]) {
        guard let deadline, deadline <= now else { return }
        while let alarm = alarms.due(at: now) {
            switch alarm {
            case .join(let connection):
                refuse(connection, reason: WAMPURI.Error.timeout, "joining took too long", into: &effects)
            case .goodbye(let connection): close(connection, isStopping ? .stopping : .goodbye, into: &effects)
            case .dealer(let realm):
                realms[realm]?.waking = nil
                realms[realm]?.dealer.wake(at: now, into: &effects)
                settle(realm, at: now, into: &effects)
            }
        }
    }

    // MARK: Realms

    /// The index of a realm that can be joined by a client of an address, made if need be; nil if it cannot.
    mutating func place(of name: String, from address: String?) -> Int? {
        if let place = places[name] { return place }
        guard refusal(ofRealm: name, from: address) == nil else { return nil }
        if policy.realms == nil {
            if hasManyRealms(address), let place = forsakenRealm(of: address) { forget(place) }
            if places.count >= policy.maximumRealms, let place = forsakenRealm() { forget(place) }
        }
        let realm = Realm(name: name, founder: address, policy: policy, chance: &chance)
        let place = realms.firstIndex { $0 == nil } ?? realms.endIndex
        if place == realms.endIndex { realms.append(realm) } else { realms[place] = realm }
        places[name] = place
        return place
    }

    /// Why a client of an address cannot join a realm; nil: it can.
    ///
    /// Where there is no room for one more realm, there may be later: that is not `no_such_realm`, after which clients give up.
    func refusal(ofRealm name: String, from address: String?) -> (uri: String, words: String)? {
        guard policy.realms?.contains(name) ?? policy.allows(uri: name) else {
            return (WAMPURI.Error.noSuchRealm, "there is no realm of this name")
        }
        guard policy.realms == nil, places[name] == nil else { return nil }
        if hasManyRealms(address), forsakenRealm(of: address) == nil {
            return (WAMPURI.Error.unavailable, "clients of this address have made as many realms as they may")
        }
        guard places.count < policy.maximumRealms || forsakenRealm() != nil else {
            return (WAMPURI.Error.unavailable, "there are as many realms as there may be")
        }
        return nil
    }

    /// Whether clients of an address have made as many realms as they may.
    private func hasManyRealms(_ address: String?) -> Bool {
        guard let address else { return false }
        return realms.count { $0?.founder == address } >= policy.maximumRealmsByAddress
    }

    /// The realm that goes if another is wanted: nobody is in it, its maker has most in such realms, and it was left first.
    ///
    /// - Parameter address: Only realms that were made from here count; nil: all.
    func forsakenRealm(of address: String? = nil) -> Int? {
        let forsaken = realms.compactMap(\.self).filter { $0.sessions.isEmpty && (address == nil || $0.founder == address) }
        var weights: [String?: Int] = [:]
        // A realm counts, too, and not only what is kept in it.
        for realm in forsaken { weights[realm.founder, default: 0] += 1024 + realm.notedBytes }
        let first = forsaken.max { one, other in
            let (weight, otherWeight) = (weights[one.founder] ?? 0, weights[other.founder] ?? 0)
            return weight != otherWeight ? weight < otherWeight : one.leftAt > other.leftAt
        }
        return first.flatMap { places[$0.name] }
    }

    /// What is to be done after anything in a realm: its news are told, its dealer is woken in time, and it goes if it is empty.
    mutating func settle(_ place: Int, at now: Moment, into effects: inout [RouterEffect]) {
        noteRelieved(in: place)
        if realms[place]?.hasNews() == true { publishMetaEvents(in: place, at: now, into: &effects) }
        if realms[place]?.notesDeadline() == true {
            if let deadline = realms[place]?.waking {
                alarms.set(.dealer(realm: place), at: deadline)
            } else {
                alarms.cancel(.dealer(realm: place))
            }
        }
        if realms[place]?.isOver() == true { forget(place) }
    }

    /// Takes a registration from its callees, or a subscription from its subscribers.
    mutating func revoke(_ id: WAMPID, in realm: String, reason: String, at now: Moment, into effects: inout [RouterEffect]) {
        guard let place = places[realm] else { return }
        if realms[place]?.broker.revoke(id, reason: reason, into: &effects) != true {
            _ = realms[place]?.dealer.revoke(id, reason: reason, into: &effects)
        }
        noteKept(in: place)
        // It may have been held by many.
        for session in sessions(in: place) { note(session) }
        settle(place, at: now, into: &effects)
    }
}
