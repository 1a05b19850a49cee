public import MachineCore

/// A buffer whose kind is known only when it is made.
public struct AnyDelivery<Value: Sendable, Output: Sendable>: DeliveryBuffer {
    private var base: any DeliveryBuffer<Value, Output>

    /// The same buffer.
    public init(_ base: any DeliveryBuffer<Value, Output>) { self.base = base }

    /// What became of what was pushed.
    public var counts: DeliveryCounts { base.counts }
    /// How many values wait.
    public var pending: Int { base.pending }
    /// Whether nothing should be pushed before something was taken.
    public var isFull: Bool { base.isFull }
    /// When there is something to take if nothing more is pushed.
    public var deadline: Moment? { base.deadline }

    /// Adds a value.
    public mutating func push(_ value: Value, at now: Moment) { base.push(value, at: now) }
    /// Removes and returns what is due.
    public mutating func take(at now: Moment) -> Output? { base.take(at: now) }
    /// No more is pushed.
    public mutating func finish() { base.finish() }
}
