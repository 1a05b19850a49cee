public import MachineCore

/// A bounded buffer between a producer and a consumer that may be slower.
///
/// It counts what happens to the values.
///
/// All buffers follow one rule: ``take(at:)`` returns something if and only if the ``deadline`` has come.
public protocol DeliveryBuffer<Value, Output>: Sendable {
    /// The type of the values that are pushed.
    associatedtype Value: Sendable
    /// The type of the output: one value or several.
    associatedtype Output: Sendable

    /// Counts of what happened to the pushed values.
    var counts: DeliveryCounts { get }
    /// The number of values that wait.
    var pending: Int { get }
    /// Whether the producer should not push until a value is taken, or at all; always false for buffers that drop values.
    var isFull: Bool { get }
    /// When the next output is ready if no more is pushed; `Moment.start` if it is ready now, nil if nothing waits.
    var deadline: Moment? { get }

    /// Adds a value. Moments must never go backwards from one call to the next.
    mutating func push(_ value: Value, at now: Moment)
    /// Removes and returns the output that is due.
    mutating func take(at now: Moment) -> Output?
    /// Notes that no more values follow, so that waiting values are due without waiting for more.
    mutating func finish()
}

extension DeliveryBuffer {
    /// Does nothing: most buffers do not wait for more values.
    public mutating func finish() {}
}

/// A type-erased buffer.
@usableFromInline package struct AnyDelivery<Value: Sendable, Output: Sendable>: DeliveryBuffer {
    private var base: any DeliveryBuffer<Value, Output>

    /// Wraps the buffer.
    @usableFromInline package init(_ base: any DeliveryBuffer<Value, Output>) { self.base = base }

    /// Counts of what happened to the pushed values.
    @usableFromInline package var counts: DeliveryCounts { base.counts }
    /// The number of values that wait.
    @usableFromInline package var pending: Int { base.pending }
    /// Whether the producer should not push until a value is taken.
    @usableFromInline package var isFull: Bool { base.isFull }
    /// When the next output is ready if no more is pushed.
    @usableFromInline package var deadline: Moment? { base.deadline }

    /// Adds a value.
    @usableFromInline package mutating func push(_ value: Value, at now: Moment) { base.push(value, at: now) }
    /// Removes and returns the output that is due.
    @usableFromInline package mutating func take(at now: Moment) -> Output? { base.take(at: now) }
    /// Notes that no more values follow.
    @usableFromInline package mutating func finish() { base.finish() }
}

/// Counts of what happened to the values for one or more consumers.
///
/// Received values that are in none of the other counts still wait, or were discarded with a consumer that had not taken them.
public struct DeliveryCounts: Hashable, Sendable {
    /// The number of values received.
    public var received = 0
    /// The number of values delivered to the consumer.
    public var delivered = 0
    /// The number of values replaced by a newer one before they were delivered.
    public var conflated = 0
    /// The number of values dropped for lack of room.
    public var dropped = 0

    /// Creates counts of zero.
    public init() {}

    /// Returns the sum of both.
    public static func + (lhs: Self, rhs: Self) -> Self {
        var sum = lhs
        sum.received += rhs.received
        sum.delivered += rhs.delivered
        sum.conflated += rhs.conflated
        sum.dropped += rhs.dropped
        return sum
    }

    /// Returns the increase from `rhs` to `lhs`.
    public static func - (lhs: Self, rhs: Self) -> Self {
        var difference = lhs
        difference.received -= rhs.received
        difference.delivered -= rhs.delivered
        difference.conflated -= rhs.conflated
        difference.dropped -= rhs.dropped
        return difference
    }
}

/// Limits intervals so that arithmetic with them does not overflow or divide by zero.
enum DeliveryTime {
    /// Limits the interval to the range from one microsecond to some hundred years.
    static func clamped(_ interval: Duration) -> Duration { min(max(interval, .microseconds(1)), .seconds(1 << 33)) }
}
