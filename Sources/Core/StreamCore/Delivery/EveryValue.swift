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
