import MachineCore

/// Who types in a room, and whether we have said that we do.
struct TypingBook: Hashable, Sendable {
    private struct Typist: Hashable, Sendable {
        var user: UserName
        var until: Moment
    }
    /// By name.
    private var others: [Typist] = []
    private var nextWord: Moment = .start
    private var toldUntil: Moment?

    /// Those who type, by name.
    var users: [UserName] { others.map(\.user) }
    var isEmpty: Bool { others.isEmpty }
    /// When the next of them is forgotten.
    var deadline: Moment? { others.map(\.until).min() }

    /// Somebody types, or has stopped; whether that is news.
    mutating func heard(_ user: UserName, types: Bool, until: Moment, limit: Int) -> Bool {
        let place = others.firstIndex { $0.user == user }
        switch (types, place) {
        case (true, let place?):
            others[place].until = until
            return false
        case (true, nil):
            guard others.count < limit else { return false }
            others.insert(Typist(user: user, until: until), at: others.firstIndex { user < $0.user } ?? others.count)
            return true
        case (false, let place?):
            others.remove(at: place)
            return true
        case (false, nil): return false
        }
    }

    /// Forgets who was silent too long; whether there was one.
    mutating func forget(at now: Moment) -> Bool {
        let count = others.count
        others.removeAll { $0.until <= now }
        return others.count != count
    }

    /// Forgets all, and what we have said; whether there was one.
    mutating func clear() -> Bool {
        defer { self = TypingBook() }
        return !others.isEmpty
    }

    /// Whether to tell the hub that the own user types, or has stopped.
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

    /// A message of the own user ends its typing for all who read it.
    mutating func published(at now: Moment) { (toldUntil, nextWord) = (nil, now) }
}
