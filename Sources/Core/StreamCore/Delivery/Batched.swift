public import MachineCore

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
