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

    /// The index of a realm that can be joined, made if need be; nil if there is none.
    mutating func place(of name: String) -> Int? {
        if let place = places[name] { return place }
        guard allows(realm: name) else { return nil }
        if policy.realms == nil, places.count >= policy.maximumRealms, let place = forsakenRealm { forget(place) }
        let realm = Realm(name: name, policy: policy, chance: &chance)
        let place = realms.firstIndex { $0 == nil } ?? realms.endIndex
        if place == realms.endIndex { realms.append(realm) } else { realms[place] = realm }
        places[name] = place
        return place
    }

    /// Whether a realm can be joined.
    func allows(realm name: String) -> Bool {
        if let known = policy.realms { return known.contains(name) }
        return places[name] != nil || policy.allows(uri: name) && (places.count < policy.maximumRealms || forsakenRealm != nil)
    }

    /// The realm that goes if another is wanted: nobody is in it, and it was left first.
    var forsakenRealm: Int? {
        realms.indices.filter { realms[$0]?.sessions.isEmpty ?? false }.min { realms[$0]?.leftAt ?? 0 < realms[$1]?.leftAt ?? 0 }
    }

    /// What is to be done after anything in a realm: its news are told, its dealer is woken in time, and it goes if it is empty.
    mutating func settle(_ place: Int, at now: Moment, into effects: inout [RouterEffect]) {
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
