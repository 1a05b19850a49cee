public import MachineCore

/// Limits the rate of another buffer: outputs are at least one interval apart.
///
/// The first output comes at once, and the last one is always delivered. No span of `count` intervals contains more than `count` outputs.
public struct Paced<Base: DeliveryBuffer>: DeliveryBuffer {
    private var base: Base
    private let interval: Duration
    /// The earliest moment of the next output.
    private var earliest = Moment.start

    /// - Parameters:
    ///   - base: The buffer that holds the values.
    ///   - interval: The minimum time between two outputs.
    public init(_ base: Base, every interval: Duration) { (self.base, self.interval) = (base, DeliveryTime.clamped(interval)) }

    /// - Parameters:
    ///   - base: The buffer that holds the values.
    ///   - count: The maximum number of outputs in any second, at least 1.
    public init(_ base: Base, perSecond count: Int) {
        let perSecond: Int64 = 1_000_000_000_000_000_000  // Attoseconds.
        let count = Int64(max(count, 1))
        // Rounded up, because otherwise one output too many would fit into some seconds.
        let interval = perSecond / count + (perSecond % count == 0 ? 0 : 1)
        self.init(base, every: Duration(secondsComponent: 0, attosecondsComponent: interval))
    }

    /// Counts of what happened to the pushed values.
    public var counts: DeliveryCounts { base.counts }
    /// The number of values that wait.
    public var pending: Int { base.pending }
    /// Whether the base buffer is full.
    public var isFull: Bool { base.isFull }
    /// When the base buffer has an output, but not before the interval is over.
    public var deadline: Moment? { base.deadline.map { max($0, earliest) } }

    /// Adds a value.
    public mutating func push(_ value: Base.Value, at now: Moment) { base.push(value, at: now) }

    /// Removes and returns the output of the base buffer if the interval is over.
    public mutating func take(at now: Moment) -> Base.Output? {
        guard now >= earliest, let output = base.take(at: now) else { return nil }
        earliest = now + interval
        return output
    }

    /// Notes that no more values follow.
    ///
    /// The rate limit still applies.
    public mutating func finish() { base.finish() }
}

/// Delivers the output of another buffer at the end of each interval in which a value arrived.
///
/// All intervals have the same length; the first begins with the first value. A consumer that comes late gets the value that is newest at
/// that time.
public struct Sampled<Base: DeliveryBuffer>: DeliveryBuffer {
    private var base: Base
    private let interval: Duration
    /// The start of an interval, with the first value or later.
    private var origin: Moment?
    /// The end of the interval in which the first waiting value arrived.
    private var due: Moment?

    /// - Parameters:
    ///   - base: The buffer that holds the values.
    ///   - interval: The length of an interval.
    public init(_ base: Base, every interval: Duration) { (self.base, self.interval) = (base, DeliveryTime.clamped(interval)) }

    /// Counts of what happened to the pushed values.
    public var counts: DeliveryCounts { base.counts }
    /// The number of values that wait.
    public var pending: Int { base.pending }
    /// Whether the base buffer is full.
    public var isFull: Bool { base.isFull }
    /// The end of the interval in which the first waiting value arrived.
    public var deadline: Moment? {
        guard let deadline = base.deadline, let due else { return nil }
        return max(deadline, due)
    }

    /// Adds a value.
    public mutating func push(_ value: Base.Value, at now: Moment) {
        base.push(value, at: now)
        let start = intervalStart(now)
        origin = start
        // A push may also have removed the waiting value.
        due = base.pending == 0 ? nil : due ?? start + interval
    }

    /// Removes and returns the output of the base buffer if the interval is over.
    public mutating func take(at now: Moment) -> Base.Output? {
        guard let due, now >= due, let output = base.take(at: now) else { return nil }
        self.due = base.pending == 0 ? nil : intervalStart(now) + interval
        return output
    }

    /// Notes that no more values follow.
    ///
    /// The current interval still runs to its end.
    public mutating func finish() { base.finish() }

    /// Returns the start of the interval that contains `now`.
    private func intervalStart(_ now: Moment) -> Moment {
        guard let origin else { return now }
        let (whole, part) = ((now - origin).wholeNanoseconds, interval.wholeNanoseconds)
        return Moment(origin.offset + interval * (whole / part))
    }
}

/// Delivers the values of another buffer in batches, limited by count and time.
///
/// No value waits longer than the time window for others to join its batch. While the consumer lags behind, nothing waits.
public struct Batched<Base: DeliveryBuffer>: DeliveryBuffer {
    private var base: Base
    private let limit: Int
    private let window: Duration
    /// When the first waiting value arrived, or earlier.
    private var opened: Moment?
    private var isFinished = false

    /// - Parameters:
    ///   - base: The buffer that holds the values.
    ///   - limit: The maximum number of values in a batch, at least 1. A batch of this size does not wait.
    ///   - window: How long a smaller batch waits for more values.
    public init(_ base: Base, upTo limit: Int, within window: Duration) {
        (self.base, self.limit, self.window) = (base, max(limit, 1), window <= .zero ? .zero : DeliveryTime.clamped(window))
    }

    /// Counts of what happened to the pushed values.
    public var counts: DeliveryCounts { base.counts }
    /// The number of values that wait.
    public var pending: Int { base.pending }
    /// Whether the base buffer is full.
    public var isFull: Bool { base.isFull }
    /// When a batch is complete: at once, or when its time window is over.
    public var deadline: Moment? {
        guard let ready = base.deadline, let opened else { return nil }
        // A batch that cannot grow is complete.
        return isFinished || base.isFull || base.pending >= limit ? ready : max(ready, opened + window)
    }

    /// Adds a value.
    public mutating func push(_ value: Base.Value, at now: Moment) {
        base.push(value, at: now)
        // A push may also have removed the waiting value.
        opened = base.pending == 0 ? nil : opened ?? now
    }

    /// Removes and returns a complete batch.
    public mutating func take(at now: Moment) -> [Base.Output]? {
        guard let deadline, now >= deadline else { return nil }
        var batch: [Base.Output] = []
        batch.reserveCapacity(min(limit, base.pending))
        while batch.count < limit, let value = base.take(at: now) { batch.append(value) }
        if base.pending == 0 { opened = nil }
        return batch
    }

    /// Notes that no more values follow: the waiting values are a complete batch.
    public mutating func finish() {
        isFinished = true
        base.finish()
    }
}
