/// How many more bytes a router may keep, at this moment.
struct KeepingRoom: Hashable, Sendable {
    /// Of one session's, its user's and its address's: subscriptions, registrations, testaments, retained events, calls that wait.
    var session: Int
    /// Of the realm's, and of all realms'.
    var all: Int
    /// Who of those has as much as it may first.
    var scarcest = "this session"

    /// As many as there are.
    static let unbounded = KeepingRoom(session: .max, all: .max)

    /// Whether so many more may be kept for the session.
    func holds(_ bytes: Int) -> Bool { bytes <= session && bytes <= all }

    /// What a subscription or registration takes, about; a wildcard is kept component by component.
    static func weight(of uri: String, _ match: WAMPMatch) -> Int {
        let bytes = 256 + uri.utf8.count
        return match == .wildcard ? bytes + 256 * (1 + uri.utf8.count { $0 == UInt8(ascii: ".") }) : bytes
    }

    /// What there is to say to whom it does not hold for.
    var refusal: (uri: String, words: String) {
        (WAMPURI.Error.unavailable, "the router keeps as much as it may, for \(scarcest) or for all")
    }
}

/// For whom a session has something kept, beside itself.
enum KeepingHolder: Hashable, Sendable {
    /// A user that has proven who it is.
    case user(String)
    /// An address, or the first half of one of IPv6.
    case address(String)

    /// Those of a session.
    static func holders(of principal: RouterPrincipal, isNamed: Bool, address: String?) -> [KeepingHolder] {
        let user = isNamed ? principal.authID.map { KeepingHolder.user($0) } : nil
        return [user, address.map { .address($0) }].compactMap(\.self)
    }
}

extension RouterMachine {
    /// How much more may be kept for a session of a realm.
    ///
    /// Where all realms keep nearly as much as they may, those that nobody is in go first, with all that they keep. Then go events of
    /// those who have left, where there are most: or one who leaves them in other realms would keep everybody from subscribing here.
    ///
    /// - Parameter bytes: For so many room is made, if what nobody present keeps takes it up; an event makes it by itself.
    mutating func room(for participant: Participant, in place: Int, needing bytes: Int = 0) -> KeepingRoom {
        while policy.maximumKept - kept < policy.maximumKeptBySession, let forsaken = forsakenRealm(), forsaken != place {
            forget(forsaken)
        }
        makeRoomForAll()
        let short = bytes - left(in: place)
        if short > 0 {
            realms[place]?.broker.makeRoom(short)
            noteKept(in: place)
        }
        note(participant)
        let session = visits[participant.connection]?.session
        var room = KeepingRoom(session: policy.maximumKeptBySession - (session?.notedBytes ?? 0), all: left(in: place))
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

    /// How much more may be kept in a realm.
    private mutating func left(in place: Int) -> Int {
        min(policy.maximumKeptInRealm - (realms[place]?.keptBytes() ?? 0), policy.maximumKept - kept)
    }

    /// Takes note of what a realm keeps now.
    mutating func noteKept(in place: Int) {
        kept += realms[place]?.noteKept() ?? 0
        for session in realms[place]?.broker.retained.takeDisplaced() ?? [] { note(session) }
    }

    /// Takes note of what those have now of whom a call that counted has ended.
    mutating func noteRelieved(in place: Int) {
        let relieved = realms[place]?.dealer.takeRelieved() ?? []
        guard !relieved.isEmpty else { return }
        noteKept(in: place)
        for session in relieved { note(session) }
    }

    /// The same, and of what a session of it has now.
    mutating func noteKept(in place: Int, of participant: Participant) {
        noteKept(in: place)
        note(participant)
    }

    private mutating func note(_ session: WAMPID) {
        if let other = sessions[session].flatMap({ visits[$0]?.session?.participant }) { note(other) }
    }

    /// Takes note of what a session has now.
    mutating func note(_ participant: Participant) {
        guard let session = visits[participant.connection]?.session else { return }
        let now = (realms[session.realm]?.keptBytes(by: participant.session) ?? 0) + session.testaments.bytes
        guard now != session.notedBytes else { return }
        visits[participant.connection]?.session?.notedBytes = now
        hold(now - session.notedBytes, for: session.holders)
    }

    /// So much more is kept for these.
    mutating func hold(_ bytes: Int, for holders: [KeepingHolder]) {
        for holder in holders {
            let held = holdings[holder, default: 0] + bytes
            holdings[holder] = held == 0 ? nil : held
        }
    }

    /// A realm goes with all that it keeps.
    mutating func forget(_ place: Int) {
        guard let name = realms[place]?.name else { return }
        kept -= realms[place]?.notedBytes ?? 0
        (realms[place], places[name]) = (nil, nil)
    }

}

extension Realm {
    /// What is kept here for all, in bytes.
    mutating func keptBytes() -> Int { broker.keptBytes + dealer.keptBytes + testamentBytes }

    /// What is kept here for a session that is present, but for its testaments.
    mutating func keptBytes(by session: WAMPID) -> Int { broker.keptBytes(by: session) + dealer.keptBytes(by: session) }

    /// How much more that is than when it was last noted.
    mutating func noteKept() -> Int {
        let now = keptBytes()
        defer { notedBytes = now }
        return now - notedBytes
    }
}
