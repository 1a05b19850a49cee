public import MachineCore

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
