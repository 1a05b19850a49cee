/// How much clients of an address have together: connections, where whoever opens them cannot count (behind a proxy), or bytes.
package struct AddressQuota: Hashable, Sendable {
    private let most: Int?
    private var taken: [String: Int] = [:]

    /// Nobody has anything, and so much may one address have; nil: any amount.
    package init(most: Int?) { self.most = most.map { max($0, 1) } }

    /// How many addresses have something.
    var count: Int { taken.count }

    /// How much more this address may have.
    package func left(for address: String?) -> Int {
        guard let most, let address else { return .max }
        return most - taken[address, default: 0]
    }

    /// Whether this address may have so much more; who has no address may.
    package func hasRoom(for address: String?, _ amount: Int = 1) -> Bool {
        left(for: address) >= amount
    }

    /// This address takes so much more; false if it has as much as it may.
    package mutating func take(_ address: String?, _ amount: Int = 1) -> Bool {
        guard hasRoom(for: address, amount) else { return false }
        if most != nil, let address { taken[address, default: 0] += amount }
        return true
    }

    /// It gives so much back.
    package mutating func leave(_ address: String?, _ amount: Int = 1) {
        guard let address, let here = taken[address] else { return }
        taken[address] = here > amount ? here - amount : nil
    }
}
