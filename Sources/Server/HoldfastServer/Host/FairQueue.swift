public import DequeModule

/// What waits for a turn of an event loop: a line for each client, and clients take turns.
///
/// So whoever says very much at once holds up mostly itself. It has no bound of its own: whoever fills it reads no more of a client of
/// which much waits.
@usableFromInline package struct FairQueue<Key: Hashable & Sendable, Item: Sendable>: Sendable {
    /// So many of one client go in a row.
    @inlinable package static var inARow: Int { 8 }

    @usableFromInline var lines: [Key: Deque<Item>] = [:]
    /// Those who have a line; the first is next.
    @usableFromInline var turns: Deque<Key> = []

    /// Nothing waits.
    @inlinable package init() {}

    @inlinable package var isEmpty: Bool { turns.isEmpty }

    /// Adds to the end of a client's line.
    @inlinable package mutating func add(_ item: Item, of key: Key) {
        guard lines[key]?.append(item) == nil else { return }
        lines[key] = [item]
        turns.append(key)
    }

    /// What is next of the one whose turn it is; what one client says keeps its order.
    @inlinable package mutating func next() -> [Item] {
        guard let key = turns.popFirst(), var line = lines.removeValue(forKey: key) else { return [] }
        let items = Array(line.prefix(Self.inARow))
        line.removeFirst(items.count)
        if !line.isEmpty {
            lines[key] = line
            turns.append(key)
        }
        return items
    }
}
