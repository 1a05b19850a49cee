import CodecCore

/// The number of bytes that the router may keep in addition, at this moment.
struct RetentionBudget: Hashable, Sendable {
    /// For a session, its user and its address: subscriptions, registrations, testaments, retained events and pending calls.
    var session: Int
    /// For the realm and for all realms.
    var all: Int
    /// Which of session, user and address reaches its limit first.
    var scarcest = "this session"

    /// No limit.
    static let unbounded = RetentionBudget(session: .max, all: .max)

    /// Returns whether this many more bytes may be kept for the session.
    func holds(_ bytes: Int) -> Bool { bytes <= session && bytes <= all }

    /// Returns the approximate bytes of a subscription or registration; a wildcard is stored component by component.
    static func weight(of uri: String, _ match: WAMPMatch) -> Int {
        let bytes = 256 + uri.utf8.count
        return match == .wildcard ? bytes + 256 * (1 + uri.utf8.count { $0 == UInt8(ascii: ".") }) : bytes
    }

    /// The refusal for a request that does not fit.
    var refusal: (uri: String, words: String) {
        (WAMPURI.Error.unavailable, "the router's memory limit is reached, for \(scarcest) or in total")
    }
}

/// A user or an address for which kept bytes count, besides the session.
enum RetentionOwner: Hashable, Sendable {
    /// An authenticated user.
    case user(String)
    /// An address; for IPv6 its first half.
    case address(String)

    /// Returns the holders of a session.
    static func holders(of principal: RouterPrincipal, isNamed: Bool, address: String?) -> [RetentionOwner] {
        let user = isNamed ? principal.authID.map { RetentionOwner.user($0) } : nil
        return [user, address.map { .address($0) }].compactMap(\.self)
    }
}

extension RouterMachine {
    /// Returns how many more bytes may be kept for a session of a realm.
    ///
    /// If all realms together are near their limit, realms without sessions are removed first, with their data. Then events of sessions that
    /// have left are dropped where there are most. Otherwise a client that leaves events in other realms could keep everybody from
    /// subscribing here.
    ///
    /// - Parameter bytes: The bytes to free if data of absent sessions takes the space; a retained event frees its own space.
    mutating func room(for participant: Participant, in place: Int, needing bytes: Int = 0) -> RetentionBudget {
        while policy.maximumKept - kept < policy.maximumKeptBySession, let abandoned = abandonedRealm(), abandoned != place {
            forget(abandoned)
        }
        makeRoomForAll()
        let short = bytes - left(in: place)
        if short > 0 {
            realms[place]?.broker.makeRoom(short)
            noteKept(in: place)
        }
        note(participant)
        let session = peers[participant.connection]?.session
        var room = RetentionBudget(session: policy.maximumKeptBySession - (session?.notedBytes ?? 0), all: left(in: place))
        for holder in session?.holders ?? [] {
            let (bound, words) =
                switch holder {
                case .user: (policy.maximumKeptByUser, "this user")
                case .address: (policy.maximumKeptByAddress, "clients of this address")
                }
            let left = bound - holdings[holder, default: 0]
            if left < room.session { (room.session, room.scarcest) = (left, words) }
        }
        return room
    }

    private mutating func makeRoomForAll() {
        while true {
            let short = policy.maximumKeptBySession - (policy.maximumKept - kept)
            guard short > 0, let richest = realms.indices.max(by: { leftBytes(in: $0) < leftBytes(in: $1) }) else { return }
            let (before, most) = (kept, min(short, leftBytes(in: richest)))
            realms[richest]?.broker.makeRoom(most)
            noteKept(in: richest)
            guard kept < before else { return }
        }
    }

    private func leftBytes(in place: Int) -> Int { realms[place]?.broker.retained.leftBytes ?? 0 }

    /// Returns how many more bytes may be kept in a realm.
    private mutating func left(in place: Int) -> Int {
        min(policy.maximumKeptInRealm - (realms[place]?.keptBytes() ?? 0), policy.maximumKept - kept)
    }

    /// Updates the count of bytes that a realm keeps.
    mutating func noteKept(in place: Int) {
        kept += realms[place]?.noteKept() ?? 0
        for session in realms[place]?.broker.retained.takeDisplaced() ?? [] { note(session) }
    }

    /// Updates the counts of the sessions with a counted call that has ended.
    mutating func noteRelieved(in place: Int) {
        let relieved = realms[place]?.dealer.takeRelieved() ?? []
        guard !relieved.isEmpty else { return }
        noteKept(in: place)
        for session in relieved { note(session) }
    }

    /// Updates the count of a realm and of one of its sessions.
    mutating func noteKept(in place: Int, of participant: Participant) {
        noteKept(in: place)
        note(participant)
    }

    private mutating func note(_ session: WAMPID) {
        if let other = sessions[session].flatMap({ peers[$0]?.session?.participant }) { note(other) }
    }

    /// Updates the count of a session.
    mutating func note(_ participant: Participant) {
        guard let session = peers[participant.connection]?.session else { return }
        let now = (realms[session.realm]?.keptBytes(by: participant.session) ?? 0) + session.testaments.bytes
        guard now != session.notedBytes else { return }
        peers[participant.connection]?.session?.notedBytes = now
        hold(now - session.notedBytes, for: session.holders)
    }

    /// Adds bytes to the counts of these holders.
    mutating func hold(_ bytes: Int, for holders: [RetentionOwner]) {
        for holder in holders {
            let held = holdings[holder, default: 0] + bytes
            holdings[holder] = held == 0 ? nil : held
        }
    }

    /// Removes a realm with all its data.
    mutating func forget(_ place: Int) {
        guard let name = realms[place]?.name else { return }
        kept -= realms[place]?.notedBytes ?? 0
        (realms[place], places[name]) = (nil, nil)
    }

}

extension Realm {
    /// Returns the number of bytes kept in the realm.
    mutating func keptBytes() -> Int { broker.keptBytes + dealer.keptBytes + testamentBytes }

    /// Returns the number of bytes kept for a present session, without its testaments.
    mutating func keptBytes(by session: WAMPID) -> Int { broker.keptBytes(by: session) + dealer.keptBytes(by: session) }

    /// Returns the growth of the kept bytes since the last call.
    mutating func noteKept() -> Int {
        let now = keptBytes()
        defer { notedBytes = now }
        return now - notedBytes
    }
}

extension WAMPArguments {
    /// The approximate number of bytes in a message.
    package var weight: Int {
        switch storage {
        case .raw(let raw): raw.bytes.count
        case .values(let list, let keywords): Value.array(list).weight() + Value.map(keywords).weight()
        }
    }

    /// The approximate number of bytes in memory; values take more than the bytes that they were read from.
    var footprint: Int {
        switch storage {
        case .raw(let raw): raw.bytes.count
        case .values(let list, let keywords): Value.array(list).weight(each: 48) + Value.map(keywords).weight(each: 48)
        }
    }
}

extension Value {
    fileprivate func weight(each: Int = 8) -> Int {
        switch self {
        case .null, .bool, .integer, .unsigned, .float, .timestamp: each
        case .text(let text): each + text.utf8.count
        case .bytes(let bytes), .extension(_, let bytes): each + bytes.count
        case .array(let items): items.reduce(each) { $0 + $1.weight(each: each) }
        case .map(let map): map.entries.reduce(each) { $0 + $1.key.weight(each: each) + $1.value.weight(each: each) }
        case .tagged(_, let value): each + value.weight(each: each)
        }
    }
}

extension BrokerPublication {
    /// The approximate number of bytes to keep the publication.
    var weight: Int { topic.utf8.count + arguments.footprint + (audience?.weight ?? 0) + 256 }
}

extension Audience {
    /// The approximate number of bytes.
    fileprivate var weight: Int { excluded.weight + eligible.weight }
}

extension Audience.Lists {
    fileprivate var weight: Int {
        let names = (authIDs ?? []).union(authRoles ?? [])
        return 32 * (sessions?.count ?? 0) + names.reduce(0) { $0 + 64 + $1.utf8.count }
    }
}
