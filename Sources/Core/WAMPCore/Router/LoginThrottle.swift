package import MachineCore

/// Slows down repeated login attempts, per address and per claimed user name.
///
/// A login is charged when its check begins and paid back if it succeeds; so concurrent checks count as well. The throttle does not
/// reveal whether a user exists.
package struct LoginThrottle: Sendable {
    /// How many failed logins may come at once, and how long it takes until one more is allowed.
    package struct Rate: Hashable, Sendable {
        let burst: Int
        let pause: Duration

        package init(burst: Int, pause: Duration) { (self.burst, self.pause) = (max(burst, 1), max(pause, .zero)) }
    }

    /// The decision on a login.
    package enum Verdict: Hashable, Sendable {
        /// The login is checked after this delay.
        case examine(after: Duration, Charge)
        /// The login is refused; another may come after this time.
        case refused(until: Duration)
    }

    /// A login whose check has begun.
    package struct Charge: Hashable, Sendable {
        fileprivate let address: String?
        fileprivate let user: String?
        fileprivate let keys: [Key]
    }

    fileprivate enum Key: Hashable, Sendable {
        case address(String)
        case user(String)
        /// All addresses that do not fit into the table.
        case otherAddresses
        /// All users that do not fit into the table.
        case otherUsers
    }
    /// A user, and an address from which the user has logged in.
    private struct Place: Hashable {
        let user: String
        let address: String
    }

    /// The maximum delay of a login; a login that would wait longer is refused.
    static let patience: Duration = .seconds(3)
    /// The maximum number of addresses and users in the table, and of places.
    static let most = 10_000
    /// The maximum length of a user name in the table; longer names are counted together.
    static let longestName = 256

    private let byAddress: Rate
    private let byUser: Rate
    /// When time has paid back all charges.
    private var debts: [Key: Moment] = [:]
    private var tidiedAt: Moment?
    private var places: Set<Place> = []
    private var placesInOrder: [Place] = []

    /// Creates a throttle without failed logins.
    package init(byAddress: Rate, byUser: Rate) { (self.byAddress, self.byUser) = (byAddress, byUser) }

    /// Decides on a login.
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

    /// Pays back a login that did not fail; if it was proven, the user is familiar at that address from now on.
    package mutating func refund(_ charge: Charge, isProven: Bool, at now: Moment) {
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

    /// Returns the key to charge; if the table is full, the key of all others.
    private mutating func place(_ key: Key, or others: Key, at now: Moment) -> Key {
        guard debts[key] == nil, debts.count >= Self.most else { return key }
        // This is slow, so it does not run for each login.
        if tidiedAt.map({ now - $0 >= .seconds(1) }) ?? true {
            debts = debts.filter { $0.value > now }
            tidiedAt = now
        }
        return debts.count < Self.most ? key : others
    }
}

/// The amounts that the clients of each address use: bytes, or connections if the listener behind a proxy cannot count them itself.
package struct AddressQuota: Hashable, Sendable {
    private let most: Int?
    private var taken: [String: Int] = [:]

    /// Creates a quota with this maximum per address; nil: no limit.
    package init(most: Int?) { self.most = most.map { max($0, 1) } }

    /// The number of addresses that use something.
    var count: Int { taken.count }

    /// Returns how much more this address may use.
    package func left(for address: String?) -> Int {
        guard let most, let address else { return .max }
        return most - taken[address, default: 0]
    }

    /// Returns whether this address may use this much more; always true without an address.
    package func hasRoom(for address: String?, _ amount: Int = 1) -> Bool {
        left(for: address) >= amount
    }

    /// Charges this address; returns false if that exceeds its maximum.
    package mutating func take(_ address: String?, _ amount: Int = 1) -> Bool {
        guard hasRoom(for: address, amount) else { return false }
        if most != nil, let address { taken[address, default: 0] += amount }
        return true
    }

    /// Returns an amount to the address's quota.
    package mutating func leave(_ address: String?, _ amount: Int = 1) {
        guard let address, let here = taken[address] else { return }
        taken[address] = here > amount ? here - amount : nil
    }
}
