public import MachineCore

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
