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
