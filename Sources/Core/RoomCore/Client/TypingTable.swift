import MachineCore

/// The users who are typing in a room, and the typing notices that this client has sent.
struct TypingTable: Hashable, Sendable {
    private struct TypingMember: Hashable, Sendable {
        var user: UserName
        var until: Moment
    }
    /// Sorted by name.
    private var others: [TypingMember] = []
    private var nextWord: Moment = .start
    private var toldUntil: Moment?

    /// The typing users, sorted by name.
    var users: [UserName] { others.map(\.user) }
    var isEmpty: Bool { others.isEmpty }
    /// When the next of them times out.
    var deadline: Moment? { others.map(\.until).min() }

    /// Records that a user types or has stopped; returns whether the list has changed.
    mutating func heard(_ user: UserName, types: Bool, until: Moment, limit: Int) -> Bool {
        let place = others.firstIndex { $0.user == user }
        switch (types, place) {
        case (true, let place?):
            others[place].until = until
            return false
        case (true, nil):
            guard others.count < limit else { return false }
            others.insert(TypingMember(user: user, until: until), at: others.firstIndex { user < $0.user } ?? others.count)
            return true
        case (false, let place?):
            others.remove(at: place)
            return true
        case (false, nil): return false
        }
    }

    /// Removes users whose typing has timed out; returns whether there were any.
    mutating func forget(at now: Moment) -> Bool {
        let count = others.count
        others.removeAll { $0.until <= now }
        return others.count != count
    }

    /// Removes everything, including this client's own state; returns whether other users were typing.
    mutating func clear() -> Bool {
        defer { self = TypingTable() }
        return !others.isEmpty
    }

    /// Returns whether to send a typing notice of the own user to the hub.
    mutating func shouldTell(_ types: Bool, at now: Moment, policy: RoomsPolicy) -> Bool {
        if types {
            guard now >= nextWord else { return false }
            nextWord = now + policy.typingInterval
            toldUntil = now + policy.typingLife
            return true
        }
        guard let until = toldUntil else { return false }
        (toldUntil, nextWord) = (nil, now)
        return now < until
    }

    /// Resets the own typing state after a message, because the message ends it for all readers.
    mutating func published(at now: Moment) { (toldUntil, nextWord) = (nil, now) }
}
