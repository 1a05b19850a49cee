package import MachineCore

/// The router side of WAMP: realms, sessions, broker and dealer.
///
/// It is strict: a client that violates the protocol gets an ABORT and is disconnected. Source: WAMP, "Protocol Violations".
/// ``RouterPolicy`` limits all memory that clients can use, and a client that does not answer in time is disconnected.
package struct RouterMachine: Machine {
    /// A timer of the router.
    enum Alarm: Hashable, Sendable {
        /// The time limit for a client to join.
        case join(RouterConnection)
        /// The time limit for a client's answer to a goodbye.
        case goodbye(RouterConnection)
        /// The next deadline of a realm's dealer.
        case dealer(realm: Int)
    }

    /// The rules and limits of the router.
    package let policy: RouterPolicy
    var chance: SplitMix64
    var peers: [RouterConnection: RouterPeer] = [:]
    /// The connection of each session.
    var sessions: [WAMPID: RouterConnection] = [:]
    /// The realms; an index whose value is nil is free.
    var realms: [Realm?] = []
    /// The index of each realm.
    var places: [String: Int] = [:]
    /// The approximate number of bytes kept in all realms; see ``RouterPolicy/maximumKept``.
    var kept = 0
    /// The bytes kept for users and addresses with present sessions.
    var holdings: [RetentionOwner: Int] = [:]
    /// The number of sessions that have left.
    var leavings: UInt64 = 0
    var alarms = Alarms<Alarm>() { didSet { deadline = alarms.next } }
    var isStopping = false

    /// Creates a router without sessions.
    ///
    /// - Parameters:
    ///   - policy: The rules and limits of the router.
    ///   - seed: The seed for random values, such as IDs of global scope. These are not secret.
    package init(policy: RouterPolicy, seed: UInt64) { (self.policy, chance) = (policy, SplitMix64(seed: seed)) }

    /// Whether the router holds no state about any client.
    var isEmpty: Bool { peers.isEmpty && holdings.isEmpty && sessions.isEmpty && places.isEmpty && alarms.next == nil }

    /// The number of sessions.
    package var sessionCount: Int { sessions.count }

    /// When to call `wake` if nothing else happens first.
    package private(set) var deadline: Moment?

    /// Handles an input.
    package mutating func handle(_ input: RouterInput, at now: Moment, into effects: inout [RouterEffect]) {
        wake(at: now, into: &effects)
        switch input {
        case .opened(let connection, let transport, let address): open(connection, transport, address, at: now, into: &effects)
        case .received(let connection, let message): receive(message, from: connection, at: now, into: &effects)
        case .forbidden(let connection, let message, let reason):
            forbid(message, of: connection, reason: reason, at: now, into: &effects)
        case .undecodable(let connection, let error):
            guard !policy.quirks.ignoresMistakes else { return }
            violate(connection, "invalid message: \(error)", at: now, into: &effects)
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

    /// Handles the passing of time.
    package mutating func wake(at now: Moment, into effects: inout [RouterEffect]) {
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

    /// Returns the index of a realm for a client of an address, and creates the realm if needed; nil if the client cannot join it.
    mutating func place(of name: String, from address: String?) -> Int? {
        if let place = places[name] { return place }
        guard refusal(ofRealm: name, from: address) == nil else { return nil }
        if policy.realms == nil {
            if hasManyRealms(address), let place = abandonedRealm(of: address) { forget(place) }
            if places.count >= policy.maximumRealms, let place = abandonedRealm() { forget(place) }
        }
        let realm = Realm(name: name, founder: address, policy: policy, chance: &chance)
        let place = realms.firstIndex { $0 == nil } ?? realms.endIndex
        if place == realms.endIndex { realms.append(realm) } else { realms[place] = realm }
        places[name] = place
        return place
    }

    /// Returns why a client of an address cannot join a realm; nil if it can.
    ///
    /// A router without space for another realm may have space later. So it does not answer `no_such_realm`, after which clients give up.
    func refusal(ofRealm name: String, from address: String?) -> (uri: String, words: String)? {
        guard policy.realms?.contains(name) ?? policy.allows(uri: name) else {
            return (WAMPURI.Error.noSuchRealm, "there is no such realm")
        }
        guard policy.realms == nil, places[name] == nil else { return nil }
        if hasManyRealms(address), abandonedRealm(of: address) == nil {
            return (WAMPURI.Error.unavailable, "clients of this address have created too many realms")
        }
        guard places.count < policy.maximumRealms || abandonedRealm() != nil else {
            return (WAMPURI.Error.unavailable, "there are too many realms")
        }
        return nil
    }

    /// Returns whether clients of an address have created the maximum number of realms.
    private func hasManyRealms(_ address: String?) -> Bool {
        guard let address else { return false }
        return realms.count { $0?.founder == address } >= policy.maximumRealmsByAddress
    }

    /// Returns the realm to remove for a new one: without sessions, of the creator with the most data in such realms, left first.
    ///
    /// - Parameter address: Only realms created from this address count; nil: all.
    func abandonedRealm(of address: String? = nil) -> Int? {
        let abandoned = realms.compactMap(\.self).filter { $0.sessions.isEmpty && (address == nil || $0.founder == address) }
        var weights: [String?: Int] = [:]
        // The realm itself counts, too, besides the bytes kept in it.
        for realm in abandoned { weights[realm.founder, default: 0] += 1024 + realm.notedBytes }
        let first = abandoned.max { one, other in
            let (weight, otherWeight) = (weights[one.founder] ?? 0, weights[other.founder] ?? 0)
            return weight != otherWeight ? weight < otherWeight : one.leftAt > other.leftAt
        }
        return first.flatMap { places[$0.name] }
    }

    /// Finishes a change in a realm: publishes its meta events, schedules its dealer, and removes it if it is empty.
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

    /// Revokes a registration from its callees, or a subscription from its subscribers.
    mutating func revoke(_ id: WAMPID, in realm: String, reason: String, at now: Moment, into effects: inout [RouterEffect]) {
        guard let place = places[realm] else { return }
        if realms[place]?.broker.revoke(id, reason: reason, into: &effects) != true {
            _ = realms[place]?.dealer.revoke(id, reason: reason, into: &effects)
        }
        noteKept(in: place)
        // Many sessions may have had it.
        for session in sessions(in: place) { note(session) }
        settle(place, at: now, into: &effects)
    }
}

/// A realm: sessions in different realms are isolated from each other.
struct Realm: Sendable {
    let name: String
    /// The address of the client that created the realm.
    let founder: String?
    var broker: Broker
    var dealer: Dealer
    var sessions: [WAMPID: RouterConnection] = [:]
    /// The bytes of its sessions' testaments.
    var testamentBytes = 0
    /// The kept bytes when they were last counted.
    var notedBytes = 0
    /// When the dealer is to be woken.
    var waking: Moment?
    /// The position of its last session's end in the order of all sessions' ends.
    private(set) var leftAt: UInt64 = 0

    /// Creates a realm without sessions.
    init(name: String, founder: String?, policy: RouterPolicy, chance: inout SplitMix64) {
        (self.name, self.founder) = (name, founder)
        broker = Broker(policy: policy, seed: chance.next())
        dealer = Dealer(policy: policy, seed: chance.next())
    }

    /// Whether the realm holds no data.
    var isEmpty: Bool { sessions.isEmpty && broker.isEmpty && dealer.isEmpty }
}

extension Realm {
    /// Removes a session that has left.
    mutating func remove(_ session: WAMPID, turn: UInt64) {
        sessions[session] = nil
        leftAt = turn
    }
}

// Checks after every call. They change little or nothing, but are mutating so that the realm is read in place and not copied.
extension Realm {
    mutating func hasNews() -> Bool { !broker.metaEvents.isEmpty || !dealer.metaEvents.isEmpty }

    mutating func takeNews() -> [MetaEvent] {
        defer { (broker.metaEvents, dealer.metaEvents) = ([], []) }
        return broker.metaEvents + dealer.metaEvents
    }

    mutating func isOver() -> Bool { sessions.isEmpty && isEmpty }

    /// Records when the dealer is to be woken.
    ///
    /// - Returns: Whether the time has changed.
    mutating func notesDeadline() -> Bool {
        let deadline = dealer.deadline
        defer { waking = deadline }
        return deadline != waking
    }
}
