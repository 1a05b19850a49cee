/// How many more bytes a router may keep, at this moment.
struct KeepingRoom: Hashable, Sendable {
    /// Of one session's: its subscriptions, registrations, testaments and retained events.
    var session: Int
    /// Of the realm's, and of all realms'.
    var all: Int

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
    static let refusal = (uri: WAMPURI.Error.unavailable, words: "the router keeps as much as it may, for this session or for all")
}

extension RouterMachine {
    /// How much more may be kept for a session of a realm.
    ///
    /// Where all realms keep nearly as much as they may, those that nobody is in go first, with all that they keep.
    ///
    /// - Parameter bytes: For so many room is made, if what nobody present keeps takes it up; an event makes it by itself.
    mutating func room(for participant: Participant, in place: Int, needing bytes: Int = 0) -> KeepingRoom {
        while policy.maximumKept - kept < policy.maximumKeptBySession, let forsaken = forsakenRealm, forsaken != place { forget(forsaken) }
        let short = bytes - left(in: place)
        if short > 0 {
            realms[place]?.broker.makeRoom(short)
            noteKept(in: place)
        }
        let own = (realms[place]?.keptBytes(by: participant.session) ?? 0) + testamentBytes(of: participant.connection)
        return KeepingRoom(session: policy.maximumKeptBySession - own, all: left(in: place))
    }

    /// How much more may be kept in a realm.
    private mutating func left(in place: Int) -> Int {
        min(policy.maximumKeptInRealm - (realms[place]?.keptBytes() ?? 0), policy.maximumKept - kept)
    }

    /// Takes note of what a realm keeps now.
    mutating func noteKept(in place: Int) { kept += realms[place]?.noteKept() ?? 0 }

    /// A realm goes with all that it keeps.
    mutating func forget(_ place: Int) {
        guard let name = realms[place]?.name else { return }
        kept -= realms[place]?.notedBytes ?? 0
        (realms[place], places[name]) = (nil, nil)
    }

    private mutating func testamentBytes(of connection: RouterConnection) -> Int { visits[connection]?.session?.testaments.bytes ?? 0 }
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
