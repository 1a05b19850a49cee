public import MachineCore

/// Collects values and hands them over together: by count, by bytes, by age, or when asked to.
///
/// One batch is handed over at a time, and the next only when the owner has finished with it; meanwhile values collect within the
/// policy's capacity, and the oldest gives way. So nothing but one batch is ever ahead of what is sent by other ways. Every recorded value
/// is handed over once and in order, or counted as dropped or sampled. While only a share is kept, the last value of a series is
/// kept all the same: it is sent when it is as old as a batch may get.
public struct Batcher<Value: Sendable>: Machine {
    /// Where the batch stands.
    public enum Phase: Hashable, Sendable {
        /// Nothing is due. → `due` when a limit is reached, on `flush` and on `close`.
        case collecting
        /// A batch is due, and told. → `handing` on `take`, → `collecting` on `end`.
        case due
        /// A batch is on its way. → `collecting` or `due` the next on `finished`.
        case handing
    }
    /// What can happen.
    public enum Input: Sendable {
        /// There is one more value, of about so many bytes.
        case record(Value, byteCount: Int)
        /// From now on this share of the values is kept.
        case keep(SampleShare)
        /// Whatever is recorded by now is due.
        case flush
        /// The owner can hand over a batch.
        case take
        /// The batch that was handed over is done with: so many of its values left, or may have; the rest is lost.
        case finished(sent: Int, uncertain: Int, unencodable: Int)
        /// Nothing more is recorded; what waits is due.
        case close
        /// What waits will never leave.
        case end
    }
    /// What to do.
    public enum Effect: Sendable {
        /// A batch is due: answer with ``Input/take`` when it can go.
        case due
        /// Hand these over, and answer with ``Input/finished(sent:uncertain:unencodable:)``.
        case hand([Value])
    }
    fileprivate struct Entry {
        let value: Value
        let byteCount: Int
        let recordedAt: Moment
        let serial: Int
    }

    /// Where the batch stands.
    public private(set) var phase = Phase.collecting
    /// What became of all values.
    public private(set) var counts = TelemetryCounts()
    /// How many bytes wait.
    public private(set) var waitingBytes = 0
    /// Which share of the values is kept.
    public private(set) var share = SampleShare.all
    /// Nothing more is taken.
    public private(set) var isClosed = false
    private let policy: BatchPolicy
    /// What waits, from `head` on: what stands before it has gone, and is removed when it is as much as the rest.
    private var entries: [Entry] = []
    private var head = 0
    /// The newest value, if the share leaves it out: kept until there is a newer one.
    private var last: Entry?
    private var sampler = EvenSampler()
    /// Whatever has no greater serial is due.
    private var flushedThrough = 0

    /// An empty batcher.
    public init(_ policy: BatchPolicy = BatchPolicy()) {
        var policy = policy
        (policy.count, policy.bytes) = (max(policy.count, 1), max(policy.bytes, 1))
        policy.capacity = max(policy.capacity, 1)
        // Two of them can be added.
        policy.byteCapacity = min(max(policy.byteCapacity, 1), Int.max / 4)
        self.policy = policy
    }

    private var waiting: ArraySlice<Entry> { entries[head...] }
    private var oldest: Entry? { head < entries.count ? entries[head] : last }

    /// Whether everything that was recorded first, up to this many values, has gone one way or another.
    public func isSettled(through recorded: Int) -> Bool { phase != .handing && oldest.map { $0.serial > recorded } ?? true }

    /// When the oldest value is too old to wait; nil while nothing waits or a batch is due already.
    public var deadline: Moment? { phase == .collecting ? oldest.map { $0.recordedAt + policy.age } : nil }

    /// Applies one input and appends what must be done about it, in order.
    public mutating func handle(_ input: Input, at now: Moment, into effects: inout [Effect]) {
        switch input {
        case .record(let value, let byteCount): record(value, max(byteCount, 0), at: now)
        case .keep(let share): self.share = share
        case .flush: flushedThrough = counts.recorded
        case .take:
            guard phase == .due else { return }
            effects.append(.hand(cut(at: now)))
            phase = .handing
        case .finished(let sent, let uncertain, let unencodable): finish(sent, uncertain, unencodable)
        case .close: (isClosed, flushedThrough) = (true, counts.recorded)
        case .end: end()
        }
        wake(at: now, into: &effects)
    }

    /// Says that a batch is due if one is; calling early or twice is harmless.
    public mutating func wake(at now: Moment, into effects: inout [Effect]) {
        guard phase == .collecting, isDue(at: now) else { return }
        phase = .due
        effects.append(.due)
    }

    private func isDue(at now: Moment) -> Bool {
        guard let oldest else { return false }
        return isDue(oldest, at: now) || entries.count - head >= policy.count || waitingBytes - (last?.byteCount ?? 0) >= policy.bytes
    }

    private func isDue(_ entry: Entry, at now: Moment) -> Bool { entry.serial <= flushedThrough || entry.recordedAt + policy.age <= now }

    private mutating func record(_ value: Value, _ byteCount: Int, at now: Moment) {
        counts.recorded += 1
        guard !isClosed, byteCount <= policy.byteCapacity else { return counts.dropped += 1 }
        if let last {  // It is not the last any more.
            counts.sampled += 1
            release(last)
            self.last = nil
        }
        let entry = Entry(value: value, byteCount: byteCount, recordedAt: now, serial: counts.recorded)
        if sampler.keeps(share) { entries.append(entry) } else { last = entry }
        counts.waiting += 1
        waitingBytes += byteCount
        while counts.waiting > policy.capacity || waitingBytes > policy.byteCapacity {
            counts.dropped += 1
            remove(1)
        }
    }

    private mutating func release(_ entry: Entry) {
        counts.waiting -= 1
        waitingBytes -= entry.byteCount
    }

    /// Removes the oldest.
    private mutating func remove(_ count: Int) {
        for entry in waiting.prefix(count) { release(entry) }
        head += count
        guard head * 2 >= entries.count else { return }
        entries.removeSubrange(..<head)
        head = 0
    }

    /// Takes what makes one batch out of what waits.
    private mutating func cut(at now: Moment) -> [Value] {
        var (values, bytes) = ([Value](), 0)
        for entry in waiting.prefix(policy.count) {
            guard values.isEmpty || bytes + entry.byteCount <= policy.bytes else { break }
            values.append(entry.value)
            bytes += entry.byteCount
        }
        remove(values.count)
        // A batch that was due for the last value alone is not empty because that was replaced meanwhile.
        if let last, head == entries.count,
            values.isEmpty || (isDue(last, at: now) && values.count < policy.count && bytes + last.byteCount <= policy.bytes)
        {
            values.append(last.value)
            release(last)
            self.last = nil
        }
        counts.leaving = values.count
        return values
    }

    private mutating func finish(_ sent: Int, _ uncertain: Int, _ unencodable: Int) {
        guard phase == .handing else { return }
        counts.sent += sent
        counts.uncertain += uncertain
        counts.unencodable += unencodable
        counts.dropped += counts.leaving - sent - uncertain - unencodable
        counts.leaving = 0
        phase = .collecting
    }

    private mutating func end() {
        isClosed = true
        counts.dropped += counts.waiting
        (counts.waiting, waitingBytes, last) = (0, 0, nil)
        (entries, head) = ([], 0)
        if phase == .due { phase = .collecting }
    }
}

extension Batcher: Equatable where Value: Equatable {}
extension Batcher: Hashable where Value: Hashable {}
extension Batcher.Entry: Equatable where Value: Equatable {}
extension Batcher.Entry: Hashable where Value: Hashable {}

/// When collected values are sent together, and how many may wait.
///
/// A batch leaves as soon as one of the limits is reached. Limits of less than one count as one.
public struct BatchPolicy: Hashable, Sendable {
    /// The most values in a batch; by default 200.
    public var count: Int
    /// The most bytes in a batch, unless a single value has more; by default 16 KiB.
    public var bytes: Int
    /// How old the oldest value of a batch may get before it leaves; by default a second.
    public var age: Duration
    /// The most values that may wait, the batch on its way not among them; by default 10,000.
    ///
    /// Where there is no room the oldest gives way.
    public var capacity: Int
    /// The most bytes that may wait; by default 1 MiB.
    public var byteCapacity: Int

    /// A policy.
    public init(
        count: Int = 200, bytes: Int = 16 << 10, age: Duration = .seconds(1), capacity: Int = 10_000, byteCapacity: Int = 1 << 20
    ) {
        (self.count, self.bytes, self.age) = (count, bytes, age)
        (self.capacity, self.byteCapacity) = (capacity, byteCapacity)
    }
}

/// What became of recorded values: each is counted as recorded, and at any time in exactly one of the others.
public struct TelemetryCounts: Hashable, Sendable {
    /// How many were recorded.
    public var recorded = 0
    /// How many wait for their batch.
    public var waiting = 0
    /// How many are in the batch on its way.
    public var leaving = 0
    /// How many left: the socket took every byte of them.
    public var sent = 0
    /// How many a connection had taken when it was lost: they may have arrived or not, and are not sent again.
    public var uncertain = 0
    /// How many were left out because the link did not keep up.
    public var sampled = 0
    /// How many gave way for want of room, or were left over at the end.
    public var dropped = 0
    /// How many could not be encoded.
    public var unencodable = 0

    /// Nothing so far.
    public init() {}
}
