package import MachineCore

/// Slows down who tries to log in again and again: by address, and by the user that is named.
///
/// A login is charged when it is examined, and paid back if it succeeds; so those that are examined at once count as well. Nothing here
/// tells whether there is such a user.
package struct LoginThrottle: Sendable {
    /// How many failed logins may come at once, and how long it takes until there may be another.
    package struct Rate: Hashable, Sendable {
        let burst: Int
        let pause: Duration

        package init(burst: Int, pause: Duration) { (self.burst, self.pause) = (max(burst, 1), max(pause, .zero)) }
    }

    /// What becomes of a login.
    package enum Verdict: Hashable, Sendable {
        /// It is examined after so long.
        case examine(after: Duration, Charge)
        /// It is not: another may come after so long.
        case refused(until: Duration)
    }

    /// A login that is examined.
    package struct Charge: Hashable, Sendable {
        fileprivate let address: String?
        fileprivate let user: String?
        fileprivate let keys: [Key]
    }

    fileprivate enum Key: Hashable, Sendable {
        case address(String)
        case user(String)
        /// All addresses that there is no room to remember.
        case otherAddresses
        /// All users of this kind.
        case otherUsers
    }
    /// A user where it has logged in.
    private struct Place: Hashable {
        let user: String
        let address: String
    }

    /// A login that would wait for longer is refused.
    static let patience: Duration = .seconds(3)
    /// How many addresses and users are remembered, and how many places.
    static let most = 10_000
    /// A longer name is none that is remembered.
    static let longestName = 256

    private let byAddress: Rate
    private let byUser: Rate
    /// When all that was charged is paid back by time.
    private var debts: [Key: Moment] = [:]
    private var tidiedAt: Moment?
    private var places: Set<Place> = []
    private var placesInOrder: [Place] = []

    /// Nobody has failed.
    package init(byAddress: Rate, byUser: Rate) { (self.byAddress, self.byUser) = (byAddress, byUser) }

    /// Somebody wants to log in.
    package mutating func begin(address: String?, user: String?, at now: Moment) -> Verdict {
        var keys: [Key] = []
        if let address { keys.append(place(.address(address), or: .otherAddresses, at: now)) }
        if let user, !isFamiliar(user, address) {
            keys.append(user.utf8.count <= Self.longestName ? place(.user(user), or: .otherUsers, at: now) : .otherUsers)
        }
        let wait = keys.map { self.wait(for: $0, at: now) }.max() ?? .zero
        guard wait <= Self.patience else { return .refused(until: wait) }
        for key in keys { debts[key] = max(debts[key] ?? now, now) + rate(of: key).pause }
        return .examine(after: wait, Charge(address: address, user: user, keys: keys))
    }

    /// A login was no failure; where it was proven, the user is known there from now on.
    package mutating func payBack(_ charge: Charge, isProven: Bool, at now: Moment) {
        for key in charge.keys {
            guard let debt = debts[key] else { continue }
            let left = Moment(debt.offset - rate(of: key).pause)
            debts[key] = left > now ? left : nil
        }
        guard isProven, let user = charge.user, let address = charge.address, user.utf8.count <= Self.longestName else { return }
        let place = Place(user: user, address: address)
        guard places.insert(place).inserted else { return }
        placesInOrder.append(place)
        guard placesInOrder.count > 2 * Self.most else { return }
        for old in placesInOrder.prefix(Self.most) { places.remove(old) }
        placesInOrder.removeFirst(Self.most)
    }

    private func isFamiliar(_ user: String, _ address: String?) -> Bool {
        address.map { places.contains(Place(user: user, address: $0)) } ?? false
    }

    private func rate(of key: Key) -> Rate {
        switch key {
        case .address, .otherAddresses: byAddress
        case .user, .otherUsers: byUser
        }
    }

    private func wait(for key: Key, at now: Moment) -> Duration {
        let rate = rate(of: key)
        let debt = max(debts[key] ?? now, now) - now
        return max(debt - rate.pause * (rate.burst - 1), .zero)
    }

    /// Where this is remembered; without room, with all others.
    private mutating func place(_ key: Key, or others: Key, at now: Moment) -> Key {
        guard debts[key] == nil, debts.count >= Self.most else { return key }
        // It takes its time: not for each login.
        if tidiedAt.map({ now - $0 >= .seconds(1) }) ?? true {
            debts = debts.filter { $0.value > now }
            tidiedAt = now
        }
        return debts.count < Self.most ? key : others
    }
}
