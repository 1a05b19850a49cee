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

/// The values of another buffer, several at a time: so many, or what has come in so long a time.
///
/// No value waits longer than that time for others to join it; while the consumer lags behind, nothing waits.
public struct Batched<Base: DeliveryBuffer>: DeliveryBuffer {
    private var base: Base
    private let limit: Int
    private let window: Duration
    /// When the first of what waits came, or earlier.
    private var opened: Moment?
    private var isFinished = false

    /// - Parameters:
    ///   - base: What holds the values.
    ///   - limit: How many values a batch has at most, at least 1; so many need not wait.
    ///   - window: How long a batch that is not full waits for more.
    public init(_ base: Base, upTo limit: Int, within window: Duration) {
        (self.base, self.limit, self.window) = (base, max(limit, 1), window <= .zero ? .zero : DeliveryTime.clamped(window))
    }

    /// What became of what was pushed.
    public var counts: DeliveryCounts { base.counts }
    /// How many values wait.
    public var pending: Int { base.pending }
    /// Whether the buffer below is full.
    public var isFull: Bool { base.isFull }
    /// When a batch is complete: at once, or when its time is over.
    public var deadline: Moment? {
        guard let ready = base.deadline, let opened else { return nil }
        // One that cannot grow is complete.
        return isFinished || base.isFull || base.pending >= limit ? ready : max(ready, opened + window)
    }

    /// Adds a value.
    public mutating func push(_ value: Base.Value, at now: Moment) {
        base.push(value, at: now)
        // What came may have been undone, too.
        opened = base.pending == 0 ? nil : opened ?? now
    }

    /// Removes and returns a batch that is complete.
    public mutating func take(at now: Moment) -> [Base.Output]? {
        guard let deadline, now >= deadline else { return nil }
        var batch: [Base.Output] = []
        batch.reserveCapacity(min(limit, base.pending))
        while batch.count < limit, let value = base.take(at: now) { batch.append(value) }
        if base.pending == 0 { opened = nil }
        return batch
    }

    /// No more is pushed: what waits is a batch.
    public mutating func finish() {
        isFinished = true
        base.finish()
    }
}
