public import MachineCore

/// A buffer whose kind is known only when it is made.
@usableFromInline package struct AnyDelivery<Value: Sendable, Output: Sendable>: DeliveryBuffer {
    private var base: any DeliveryBuffer<Value, Output>

    /// The same buffer.
    @usableFromInline package init(_ base: any DeliveryBuffer<Value, Output>) { self.base = base }

    /// What became of what was pushed.
    @usableFromInline package var counts: DeliveryCounts { base.counts }
    /// How many values wait.
    @usableFromInline package var pending: Int { base.pending }
    /// Whether nothing should be pushed before something was taken.
    @usableFromInline package var isFull: Bool { base.isFull }
    /// When there is something to take if nothing more is pushed.
    @usableFromInline package var deadline: Moment? { base.deadline }

    /// Adds a value.
    @usableFromInline package mutating func push(_ value: Value, at now: Moment) { base.push(value, at: now) }
    /// Removes and returns what is due.
    @usableFromInline package mutating func take(at now: Moment) -> Output? { base.take(at: now) }
    /// No more is pushed.
    @usableFromInline package mutating func finish() { base.finish() }
}
