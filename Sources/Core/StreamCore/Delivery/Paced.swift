public import MachineCore

/// What another buffer gives, but never sooner after the one before than an interval.
///
/// The first comes at once and the last always; so no span of the length of `count` intervals sees more than `count`.
public struct Paced<Base: DeliveryBuffer>: DeliveryBuffer {
    private var base: Base
    private let interval: Duration
    /// Before that nothing is given.
    private var earliest = Moment.start

    /// - Parameters:
    ///   - base: What holds the values.
    ///   - interval: How long after one the next may be taken.
    public init(_ base: Base, every interval: Duration) { (self.base, self.interval) = (base, DeliveryTime.clamped(interval)) }

    /// - Parameters:
    ///   - base: What holds the values.
    ///   - count: How many may be taken in any second, at least 1.
    public init(_ base: Base, perSecond count: Int) {
        let perSecond: Int64 = 1_000_000_000_000_000_000  // Attoseconds.
        let count = Int64(max(count, 1))
        // Rounded up, or one too many would fit into some seconds.
        let interval = perSecond / count + (perSecond % count == 0 ? 0 : 1)
        self.init(base, every: Duration(secondsComponent: 0, attosecondsComponent: interval))
    }

    /// What became of what was pushed.
    public var counts: DeliveryCounts { base.counts }
    /// How many values wait.
    public var pending: Int { base.pending }
    /// Whether the buffer below is full.
    public var isFull: Bool { base.isFull }
    /// When the buffer below has something, but not before the interval is over.
    public var deadline: Moment? { base.deadline.map { max($0, earliest) } }

    /// Adds a value.
    public mutating func push(_ value: Base.Value, at now: Moment) { base.push(value, at: now) }

    /// Removes and returns what the buffer below gives, if the interval is over.
    public mutating func take(at now: Moment) -> Base.Output? {
        guard now >= earliest, let output = base.take(at: now) else { return nil }
        earliest = now + interval
        return output
    }

    /// No more is pushed; the pace stays.
    public mutating func finish() { base.finish() }
}
