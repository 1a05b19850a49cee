public import MachineCore

/// Keeps all values in order.
///
/// The producer must wait while it is full.
public struct EveryValue<Value: Sendable>: DeliveryBuffer {
    @usableFromInline var ring = Ring<Value>()
    @usableFromInline let capacity: Int
    @usableFromInline var tally = DeliveryCounts()

    /// - Parameter capacity: The number of values that makes the buffer full, at least 1.
    @inlinable public init(capacity: Int) { self.capacity = max(capacity, 1) }

    /// Counts of what happened to the pushed values.
    @inlinable public var counts: DeliveryCounts { tally }
    /// The number of values that wait.
    @inlinable public var pending: Int { ring.count }
    /// Whether the capacity is reached.
    @inlinable public var isFull: Bool { ring.count >= capacity }
    /// `Moment.start` if a value waits, otherwise nil.
    @inlinable public var deadline: Moment? { ring.isEmpty ? nil : .start }

    /// Adds a value, even if the buffer is full.
    @inlinable public mutating func push(_ value: Value, at now: Moment) {
        tally.received += 1
        ring.append(value)
    }

    /// Removes and returns the oldest value.
    @inlinable public mutating func take(at now: Moment) -> Value? {
        guard let value = ring.popFirst() else { return nil }
        tally.delivered += 1
        return value
    }
}

/// Keeps only the newest values, in order; the oldest value is dropped when there is no room.
public struct NewestValues<Value: Sendable>: DeliveryBuffer {
    private var ring = Ring<Value>()
    private let limit: Int
    /// Counts of what happened to the pushed values.
    public private(set) var counts = DeliveryCounts()

    /// - Parameter limit: The number of values that may wait, at least 1.
    public init(limit: Int) { self.limit = max(limit, 1) }

    /// The number of values that wait.
    public var pending: Int { ring.count }
    /// Always false.
    public var isFull: Bool { false }
    /// `Moment.start` if a value waits, otherwise nil.
    public var deadline: Moment? { ring.isEmpty ? nil : .start }

    /// Adds a value.
    ///
    /// Drops the oldest one if there is no room.
    public mutating func push(_ value: Value, at now: Moment) {
        counts.received += 1
        if ring.count == limit {
            _ = ring.popFirst()
            counts.dropped += 1
        }
        ring.append(value)
    }

    /// Removes and returns the oldest remaining value.
    public mutating func take(at now: Moment) -> Value? {
        guard let value = ring.popFirst() else { return nil }
        counts.delivered += 1
        return value
    }
}

/// Keeps only the newest value.
public struct LatestValue<Value: Sendable>: DeliveryBuffer {
    /// Returns whether two values are the same for the consumer.
    public typealias Comparison = @Sendable (Value, Value) -> Bool

    private var value: Value?
    /// The value that was delivered last; kept only for the comparison.
    private var last: Value?
    private let isSame: Comparison?
    /// Counts of what happened to the pushed values.
    public private(set) var counts = DeliveryCounts()

    /// - Parameter isSame: Compares a value with the one that was delivered last. If they are the same, it is not delivered again.
    ///   Nil: every value is delivered.
    public init(unless isSame: Comparison? = nil) { self.isSame = isSame }

    /// 1 or 0.
    public var pending: Int { value == nil ? 0 : 1 }
    /// Always false.
    public var isFull: Bool { false }
    /// `Moment.start` if a value waits, otherwise nil.
    public var deadline: Moment? { value == nil ? nil : .start }

    /// Replaces the waiting value.
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

/// Keeps the newest value of each key, in the order in which the keys first changed since they were last taken.
///
/// A slow consumer never sees an outdated value, a key that changes all the time does not block others, and no key is skipped. Pushing and
/// taking take constant time.
public struct LatestByKey<Key: Hashable & Sendable, Value: Sendable>: DeliveryBuffer {
    private let key: @Sendable (Value) -> Key
    private let limit: Int
    private var ring = Ring<(key: Key, value: Value)>()
    /// The position of each key, counted from the first key that was ever added.
    private var places: [Key: Int] = [:]
    private var firstPlace = 0
    /// Counts of what happened to the pushed values.
    public private(set) var counts = DeliveryCounts()

    /// - Parameters:
    ///   - limit: The number of keys that may wait, at least 1. If there is no room for a new key, the key that has waited longest is
    ///   dropped.
    ///   - key: Returns the key of a value.
    public init(limit: Int = 10_000, by key: @escaping @Sendable (Value) -> Key) { (self.limit, self.key) = (max(limit, 1), key) }

    /// The number of keys that wait.
    public var pending: Int { ring.count }
    /// Always false.
    public var isFull: Bool { false }
    /// `Moment.start` if a value waits, otherwise nil.
    public var deadline: Moment? { ring.isEmpty ? nil : .start }

    /// Replaces the waiting value of the same key, or adds the value at the end.
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

    /// Removes and returns the value of the key that has waited longest.
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
