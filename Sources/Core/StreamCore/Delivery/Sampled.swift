public import MachineCore

/// What another buffer gives, at the end of each interval in which something came.
///
/// The intervals are of equal length and begin with the first value. A consumer that comes late finds what is newest then.
public struct Sampled<Base: DeliveryBuffer>: DeliveryBuffer {
    private var base: Base
    private let interval: Duration
    /// Where an interval begins, with the first value or later.
    private var origin: Moment?
    /// The end of the interval in which the first of what waits has come.
    private var due: Moment?

    /// - Parameters:
    ///   - base: What holds the values.
    ///   - interval: How long an interval is.
    public init(_ base: Base, every interval: Duration) { (self.base, self.interval) = (base, DeliveryTime.clamped(interval)) }

    /// What became of what was pushed.
    public var counts: DeliveryCounts { base.counts }
    /// How many values wait.
    public var pending: Int { base.pending }
    /// Whether the buffer below is full.
    public var isFull: Bool { base.isFull }
    /// The end of the interval in which the first of what waits has come.
    public var deadline: Moment? {
        guard let deadline = base.deadline, let due else { return nil }
        return max(deadline, due)
    }

    /// Adds a value.
    public mutating func push(_ value: Base.Value, at now: Moment) {
        base.push(value, at: now)
        let start = intervalStart(now)
        origin = start
        // What came may have been undone, too.
        due = base.pending == 0 ? nil : due ?? start + interval
    }

    /// Removes and returns what the buffer below gives, if the interval is over.
    public mutating func take(at now: Moment) -> Base.Output? {
        guard let due, now >= due, let output = base.take(at: now) else { return nil }
        self.due = base.pending == 0 ? nil : intervalStart(now) + interval
        return output
    }

    /// No more is pushed; the interval is waited for nevertheless.
    public mutating func finish() { base.finish() }

    /// Where the interval begins that `now` lies in.
    private func intervalStart(_ now: Moment) -> Moment {
        guard let origin else { return now }
        let (whole, part) = ((now - origin).wholeNanoseconds, interval.wholeNanoseconds)
        return Moment(origin.offset + interval * (whole / part))
    }
}
