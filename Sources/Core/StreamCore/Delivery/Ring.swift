/// A queue in one array, which grows to what was in it at most.
@usableFromInline struct Ring<Element> {
    @usableFromInline var slots: [Element?] = []
    @usableFromInline var head = 0
    @usableFromInline var count = 0

    @inlinable init() {}

    @inlinable var isEmpty: Bool { count == 0 }

    @inlinable mutating func append(_ element: Element) {
        if count == slots.count { grow() }
        slots[index(count)] = element
        count += 1
    }

    @inlinable mutating func popFirst() -> Element? {
        guard count > 0 else { return nil }
        defer {
            head = index(1)
            count -= 1
        }
        return slots[head].take()
    }

    /// Changes the element so many places behind the first.
    @inlinable mutating func update(_ position: Int, _ change: (inout Element) -> Void) {
        precondition(position < count)
        if slots[index(position)] != nil { change(&slots[index(position)]!) }
    }

    @inlinable func index(_ position: Int) -> Int {
        let index = head + position
        return index < slots.count ? index : index - slots.count
    }

    @inlinable mutating func grow() {
        let old = self
        slots = []
        slots.reserveCapacity(max(old.count * 2, 4))
        for position in 0..<old.count { slots.append(old.slots[old.index(position)]) }
        while slots.count < max(old.count * 2, 4) { slots.append(nil) }
        head = 0
    }
}

extension Ring: Sendable where Element: Sendable {}
