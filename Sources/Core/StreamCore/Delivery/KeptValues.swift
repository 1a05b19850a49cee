public import MachineCore

/// All values in their order; whoever pushes has to wait while it is full.
public struct EveryValue<Value: Sendable>: DeliveryBuffer {
    private var ring = Ring<Value>()
    private let capacity: Int
    /// What became of what was pushed.
    public private(set) var counts = DeliveryCounts()

    /// - Parameter capacity: How many values make it full, at least 1.
    public init(capacity: Int) { self.capacity = max(capacity, 1) }

    /// How many values wait.
    public var pending: Int { ring.count }
    /// Whether so many values wait as make it full.
    public var isFull: Bool { ring.count >= capacity }
    /// At once, if a value waits.
    public var deadline: Moment? { ring.isEmpty ? nil : .start }

    /// Adds a value, and keeps it in any case.
    public mutating func push(_ value: Value, at now: Moment) {
        counts.received += 1
        ring.append(value)
    }

    /// Removes and returns the oldest value.
    public mutating func take(at now: Moment) -> Value? {
        guard let value = ring.popFirst() else { return nil }
        counts.delivered += 1
        return value
    }
}

/// The newest so many values in their order; the oldest gives way.
public struct NewestValues<Value: Sendable>: DeliveryBuffer {
    private var ring = Ring<Value>()
    private let limit: Int
    /// What became of what was pushed.
    public private(set) var counts = DeliveryCounts()

    /// - Parameter limit: How many values may wait, at least 1.
    public init(limit: Int) { self.limit = max(limit, 1) }

    /// How many values wait.
    public var pending: Int { ring.count }
    /// Never.
    public var isFull: Bool { false }
    /// At once, if a value waits.
    public var deadline: Moment? { ring.isEmpty ? nil : .start }

    /// Adds a value, for which the oldest gives way if there is no room.
    public mutating func push(_ value: Value, at now: Moment) {
        counts.received += 1
        if ring.count == limit {
            _ = ring.popFirst()
            counts.dropped += 1
        }
        ring.append(value)
    }

    /// Removes and returns the oldest value that is left.
    public mutating func take(at now: Moment) -> Value? {
        guard let value = ring.popFirst() else { return nil }
        counts.delivered += 1
        return value
    }
}

/// The newest value alone.
public struct LatestValue<Value: Sendable>: DeliveryBuffer {
    /// Whether two values are the same to the consumer.
    public typealias Comparison = @Sendable (Value, Value) -> Bool

    private var value: Value?
    /// What the consumer got last; kept only to compare with.
    private var last: Value?
    private let isSame: Comparison?
    /// What became of what was pushed.
    public private(set) var counts = DeliveryCounts()

    /// - Parameter isSame: Tells a value that the consumer has already, and that need not be delivered again; nil: there is none.
    public init(unless isSame: Comparison? = nil) { self.isSame = isSame }

    /// 1 or 0.
    public var pending: Int { value == nil ? 0 : 1 }
    /// Never.
    public var isFull: Bool { false }
    /// At once, if a value waits.
    public var deadline: Moment? { value == nil ? nil : .start }

    /// Puts a value in the place of the one that waits.
    public mutating func push(_ value: Value, at now: Moment) {
        counts.received += 1
        if self.value != nil { counts.conflated += 1 }
        if let isSame, let last, isSame(last, value) {
            counts.conflated += 1
            self.value = nil
        } else {
            self.value = value
        }
    }

    /// Removes and returns the newest value.
    public mutating func take(at now: Moment) -> Value? {
        guard let value = value.take() else { return nil }
        if isSame != nil { last = value }
        counts.delivered += 1
        return value
    }
}

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
