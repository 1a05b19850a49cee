public import MachineCore

/// The newest value of each key, in the order in which the keys first changed since they were last taken.
///
/// So a slow consumer never sees a value that was replaced, nor waits for a key that changes all the time, and no key is passed over.
/// Pushing and taking cost the same however many keys wait.
public struct LatestByKey<Key: Hashable & Sendable, Value: Sendable>: DeliveryBuffer {
    private let key: @Sendable (Value) -> Key
    private let limit: Int
    private var ring = Ring<(key: Key, value: Value)>()
    /// Which place each key has, counted from the first that there ever was.
    private var places: [Key: Int] = [:]
    private var firstPlace = 0
    /// What became of what was pushed.
    public private(set) var counts = DeliveryCounts()

    /// - Parameters:
    ///   - limit: How many keys may wait, at least 1; for one more the key that has waited longest gives way.
    ///   - key: Tells what a value is of.
    public init(limit: Int = 10_000, by key: @escaping @Sendable (Value) -> Key) { (self.limit, self.key) = (max(limit, 1), key) }

    /// How many keys wait.
    public var pending: Int { ring.count }
    /// Never.
    public var isFull: Bool { false }
    /// At once, if a value waits.
    public var deadline: Moment? { ring.isEmpty ? nil : .start }

    /// Puts a value in the place of the one of the same key that waits, or behind all others.
    public mutating func push(_ value: Value, at now: Moment) {
        counts.received += 1
        let key = key(value)
        if let place = places[key] {
            counts.conflated += 1
            return ring.update(place - firstPlace) { $0.value = value }
        }
        if ring.count == limit, pop() != nil { counts.dropped += 1 }
        places[key] = firstPlace + ring.count
        ring.append((key, value))
    }

    /// Removes and returns the value whose key has waited longest.
    public mutating func take(at now: Moment) -> Value? {
        guard let value = pop() else { return nil }
        counts.delivered += 1
        return value
    }

    private mutating func pop() -> Value? {
        guard let (key, value) = ring.popFirst() else { return nil }
        places[key] = nil
        firstPlace += 1
        return value
    }
}
