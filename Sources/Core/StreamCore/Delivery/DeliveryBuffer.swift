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

/// What became of the values that came for one or more consumers.
///
/// What was received and is none of the others still waits to be taken, or left with a consumer that had not taken it.
public struct DeliveryCounts: Hashable, Sendable {
    /// Values that came.
    public var received = 0
    /// Values that the consumer has got.
    public var delivered = 0
    /// Values in whose place a newer one came before the consumer had got them.
    public var conflated = 0
    /// Values that gave way to others, for there was no room.
    public var dropped = 0

    /// Nothing yet.
    public init() {}

    /// Both together.
    public static func + (lhs: Self, rhs: Self) -> Self {
        var sum = lhs
        sum.received += rhs.received
        sum.delivered += rhs.delivered
        sum.conflated += rhs.conflated
        sum.dropped += rhs.dropped
        return sum
    }

    /// What came to `rhs` to make `lhs`.
    public static func - (lhs: Self, rhs: Self) -> Self {
        var difference = lhs
        difference.received -= rhs.received
        difference.delivered -= rhs.delivered
        difference.conflated -= rhs.conflated
        difference.dropped -= rhs.dropped
        return difference
    }
}

/// Intervals that can be added to any moment and divided by.
enum DeliveryTime {
    /// From a microsecond to some hundred years.
    static func clamped(_ interval: Duration) -> Duration { min(max(interval, .microseconds(1)), .seconds(1 << 33)) }
}
