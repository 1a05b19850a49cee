import MachineCore

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
