public import MachineCore

/// Values on their way to a consumer that may be slower than they come: bounded in memory, and counted.
///
/// One rule holds for all: ``take(at:)`` gives something if, and only if, the ``deadline`` has come.
public protocol DeliveryBuffer<Value, Output>: Sendable {
    /// What is pushed.
    associatedtype Value: Sendable
    /// What is taken: a value, or some.
    associatedtype Output: Sendable

    /// What became of what was pushed.
    var counts: DeliveryCounts { get }
    /// How many values wait.
    var pending: Int { get }
    /// Whether nothing should be pushed before something was taken, or any more; never where values give way.
    var isFull: Bool { get }
    /// When there is something to take if nothing more is pushed, `Moment.start` if there is already; nil while nothing waits.
    var deadline: Moment? { get }

    /// Adds a value. Moments never go backwards from one call to the next.
    mutating func push(_ value: Value, at now: Moment)
    /// Removes and returns what is due.
    mutating func take(at now: Moment) -> Output?
    /// No more is pushed: what would wait for more waits no longer.
    mutating func finish()
}

extension DeliveryBuffer {
    /// What waits for nothing needs no end.
    public mutating func finish() {}
}
