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
