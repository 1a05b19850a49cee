/// What has changed and was not taken yet: each place once, in the order of its first change.
///
/// It holds no values, so whoever takes late reads the newest; and its size is bounded by the number of places.
package struct ChangeList: Hashable, Sendable {
    private var order: [UInt32] = []
    /// How many of `order` are taken already.
    private var taken = 0
    private var isListed: [Bool] = []

    package init() {}

    package var isEmpty: Bool { taken == order.count }
    package var count: Int { order.count - taken }

    /// Notes a change; false if the place waits already.
    @discardableResult
    package mutating func note(_ place: Int) -> Bool {
        if place >= isListed.count { isListed.append(contentsOf: repeatElement(false, count: place + 1 - isListed.count)) }
        guard !isListed[place] else { return false }
        isListed[place] = true
        order.append(UInt32(truncatingIfNeeded: place))
        return true
    }

    /// Notes changes.
    package mutating func note(_ places: [Int]) { for place in places { note(place) } }

    /// Takes the place whose first change is the oldest.
    package mutating func popFirst() -> Int? {
        guard taken < order.count else { return nil }
        let place = Int(order[taken])
        taken += 1
        isListed[place] = false
        if taken == order.count {
            order.removeAll(keepingCapacity: true)
            taken = 0
        } else if taken > 1024, taken > order.count / 2 {
            order.removeFirst(taken)
            taken = 0
        }
        return place
    }

    package mutating func removeAll() { while popFirst() != nil {} }
}
