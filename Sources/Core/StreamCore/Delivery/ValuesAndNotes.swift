public import MachineCore

/// Keeps values in order with notes between them.
///
/// If the consumer is slow, the number of dropped values takes their place.
@usableFromInline package struct ValuesAndNotes<Content: Sendable, Note: Sendable>: DeliveryBuffer {
    /// An element that is pushed and taken.
    @usableFromInline package enum Item: Sendable {
        /// A value.
        case value(Content)
        /// A note between values. Left out if the number of waiting items is at least twice the capacity for values.
        case note(Note)
        /// This many values were left out here.
        case dropped(Int)
    }
    /// What happens to a value for which there is no room.
    @usableFromInline package enum Excess: Hashable, Sendable {
        /// The oldest value is dropped.
        case dropOldest
        /// The new value is dropped.
        case dropNewest
        /// The new value and all later ones are refused: the buffer stays full for good.
        case refuse
    }
    @usableFromInline var items = Ring<Item>()
    /// The number of values among the items.
    @usableFromInline var values = 0
    /// The number of values left out before the first item, and after the last one.
    @usableFromInline var (before, behind) = (0, 0)
    @usableFromInline let capacity: Int
    @usableFromInline let excess: Excess
    @usableFromInline var tally = DeliveryCounts()
    @usableFromInline var isOverrun = false

    /// - Parameters:
    ///   - capacity: The number of values that may wait, at least 1.
    ///   - excess: What happens to further values.
    @inlinable package init(capacity: Int, _ excess: Excess) { (self.capacity, self.excess) = (max(capacity, 1), excess) }

    /// Counts of what happened to the values.
    ///
    /// Notes are not counted.
    @inlinable package var counts: DeliveryCounts { tally }
    /// The number of items that wait.
    @inlinable package var pending: Int { items.count + (before > 0 ? 1 : 0) + (behind > 0 ? 1 : 0) }
    /// Whether a value was refused.
    @inlinable package var isFull: Bool { isOverrun }
    /// `Moment.start` if an item waits, otherwise nil.
    @inlinable package var deadline: Moment? { pending == 0 ? nil : .start }

    /// Adds a value or a note.
    ///
    /// Does nothing once a value was refused.
    @inlinable package mutating func push(_ item: Item, at now: Moment) {
        guard !isOverrun else { return }
        guard case .value = item else {
            guard items.count / 2 < capacity else { return }
            noteDropped()
            return items.append(item)
        }
        tally.received += 1
        if values == capacity {
            tally.dropped += 1
            switch excess {
            case .dropOldest: dropOldest()
            case .dropNewest: return behind += 1
            case .refuse: return isOverrun = true
            }
        }
        noteDropped()
        items.append(item)
        values += 1
    }

    /// Drops the oldest value and the notes before it, which refer to values that are gone.
    @inlinable mutating func dropOldest() {
        while let item = items.popFirst() {
            guard case .value = item else { continue }
            values -= 1
            return before += 1
        }
    }

    /// Inserts the count of dropped values at their place.
    @inlinable mutating func noteDropped() {
        guard behind > 0 else { return }
        items.append(.dropped(behind))
        behind = 0
    }

    /// Removes and returns the oldest item.
    @inlinable package mutating func take(at now: Moment) -> Item? {
        guard before == 0 else {
            defer { before = 0 }
            return .dropped(before)
        }
        guard let item = items.popFirst() else {
            defer { behind = 0 }
            return behind > 0 ? .dropped(behind) : nil
        }
        guard case .value = item else { return item }
        values -= 1
        tally.delivered += 1
        return item
    }
}

/// A ring buffer that grows to the largest number of elements it has held.
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

    /// Changes the element at this offset from the first one.
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
