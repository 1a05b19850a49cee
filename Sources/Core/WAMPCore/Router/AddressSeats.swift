/// How many connections of an address are open, where those that open them cannot count: behind a proxy.
package struct AddressSeats: Hashable, Sendable {
    private let most: Int?
    private var taken: [String: Int] = [:]

    /// Nobody is here, and so many of an address may be; nil: any number.
    package init(most: Int?) { self.most = most.map { max($0, 1) } }

    /// How many addresses there are.
    var count: Int { taken.count }

    /// Whether one more of this address may come; any may that has none.
    package func hasRoom(for address: String?) -> Bool {
        guard let most, let address else { return true }
        return taken[address, default: 0] < most
    }

    /// One more of this address comes; false if there are as many as may be.
    package mutating func take(_ address: String?) -> Bool {
        guard hasRoom(for: address) else { return false }
        if most != nil, let address { taken[address, default: 0] += 1 }
        return true
    }

    /// One that came has gone.
    package mutating func leave(_ address: String?) {
        guard let address, let here = taken[address] else { return }
        taken[address] = here > 1 ? here - 1 : nil
    }
}
