import MachineCore

/// A realm: sessions in different realms know nothing of each other.
struct Realm: Sendable {
    let name: String
    /// The address of the client that made it.
    let founder: String?
    var broker: Broker
    var dealer: Dealer
    var sessions: [WAMPID: RouterConnection] = [:]
    /// What the testaments of its sessions take.
    var testamentBytes = 0
    /// What it kept when that was last noted.
    var notedBytes = 0
    /// When the dealer is woken.
    var waking: Moment?
    /// When its last session left, counted through all realms.
    private(set) var leftAt: UInt64 = 0

    /// A realm without sessions.
    init(name: String, founder: String?, policy: RouterPolicy, chance: inout SplitMix64) {
        (self.name, self.founder) = (name, founder)
        broker = Broker(policy: policy, seed: chance.next())
        dealer = Dealer(policy: policy, seed: chance.next())
    }

    /// Whether nothing would be lost without it.
    var isEmpty: Bool { sessions.isEmpty && broker.isEmpty && dealer.isEmpty }
}

extension Realm {
    /// A session has left.
    mutating func remove(_ session: WAMPID, turn: UInt64) {
        sessions[session] = nil
        leftAt = turn
    }
}

// What is asked of a realm after every call. They change nothing, or next to it, but are mutating: so the realm is looked at where it
// stands, and not copied out of its place.
extension Realm {
    mutating func hasNews() -> Bool { !broker.metaEvents.isEmpty || !dealer.metaEvents.isEmpty }

    mutating func takeNews() -> [MetaEvent] {
        defer { (broker.metaEvents, dealer.metaEvents) = ([], []) }
        return broker.metaEvents + dealer.metaEvents
    }

    mutating func isOver() -> Bool { sessions.isEmpty && isEmpty }

    /// Takes note of when the dealer wants to be woken.
    ///
    /// - Returns: Whether that is another moment than before.
    mutating func notesDeadline() -> Bool {
        let deadline = dealer.deadline
        defer { waking = deadline }
        return deadline != waking
    }
}
