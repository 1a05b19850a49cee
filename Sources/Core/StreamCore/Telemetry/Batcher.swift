package import MachineCore

/// Collects values into batches that are sent by count, by size, by age, or on request.
///
/// One batch is handed over at a time, and the next one only after the owner has finished with it. Meanwhile values collect up to the
/// policy's capacity, and the oldest are dropped beyond that. Other messages therefore wait for at most one batch. Every recorded value is
/// handed over once and in order, or counted as dropped or sampled. If only a share is kept, the last value of a series is still sent, when
/// it reaches the maximum age of a batch.
package struct Batcher<Value: Sendable>: Machine {
    /// The state of the batch.
    package enum Phase: Hashable, Sendable {
        /// Nothing is due. → `due` when a limit is reached, on `flush` and on `close`.
        case collecting
        /// A batch is due and was reported. → `handing` on `take`, → `collecting` on `end`.
        case due
        /// A batch was handed over. → `collecting`, or `due` for the next one, on `finished`.
        case handing
    }
    /// An event that affects the batches.
    package enum Input: Sendable {
        /// A new value of approximately this many bytes.
        case record(Value, byteCount: Int)
        /// From now on, this share of the values is kept.
        case keep(SampleShare)
        /// All values recorded so far are due.
        case flush
        /// The owner can send a batch.
        case take
        /// The owner has finished with the batch: this many values were sent or may have been sent; the others were lost.
        case finished(sent: Int, uncertain: Int, unencodable: Int)
        /// No more values are recorded; the waiting ones are due.
        case close
        /// The waiting values will never be sent.
        case end
    }
    /// The action to take.
    package enum Effect: Sendable {
        /// A batch is due: answer with ``Input/take`` when it can be sent.
        case due
        /// Send these values, and answer with ``Input/finished(sent:uncertain:unencodable:)``.
        case hand([Value])
    }
    fileprivate struct Entry {
        let value: Value
        let byteCount: Int
        let recordedAt: Moment
        let serial: Int
    }

    /// The state of the batch.
    package private(set) var phase = Phase.collecting
    /// Counts of what happened to all values.
    package private(set) var counts = TelemetryCounts()
    /// The number of bytes that wait.
    package private(set) var waitingBytes = 0
    /// The share of the values that is kept.
    package private(set) var share = SampleShare.all
    /// Whether no more values are accepted.
    package private(set) var isClosed = false
    private let policy: BatchPolicy
    /// The waiting values, from `head` on.
    ///
    /// Earlier ones are gone; they are removed once they are as many as the rest.
    private var entries: [Entry] = []
    private var head = 0
    /// The newest value if it was not sampled: kept until there is a newer one.
    private var last: Entry?
    private var sampler = EvenSampler()
    /// Values up to this serial number are due.
    private var flushedThrough = 0

    /// Creates an empty batcher.
    package init(_ policy: BatchPolicy = BatchPolicy()) {
        var policy = policy
        (policy.count, policy.bytes) = (max(policy.count, 1), max(policy.bytes, 1))
        policy.capacity = max(policy.capacity, 1)
        // Limited so that the sum of two does not overflow.
        policy.byteCapacity = min(max(policy.byteCapacity, 1), Int.max / 4)
        self.policy = policy
    }

    private var waiting: ArraySlice<Entry> { entries[head...] }
    private var oldest: Entry? { head < entries.count ? entries[head] : last }

    /// Returns whether the first `recorded` values are all settled: sent, dropped or sampled.
    package func isSettled(through recorded: Int) -> Bool { phase != .handing && oldest.map { $0.serial > recorded } ?? true }

    /// When the oldest value reaches the maximum age; nil if nothing waits or a batch is already due.
    package var deadline: Moment? { phase == .collecting ? oldest.map { $0.recordedAt + policy.age } : nil }

    /// Applies one input and appends the resulting effects in order.
    package mutating func handle(_ input: Input, at now: Moment, into effects: inout [Effect]) {
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

    /// Reports a batch if one is due.
    ///
    /// Early and repeated calls are harmless.
    package mutating func wake(at now: Moment, into effects: inout [Effect]) {
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
        if let last {  // It is no longer the last one.
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

    /// Removes the oldest values.
    private mutating func remove(_ count: Int) {
        for entry in waiting.prefix(count) { release(entry) }
        head += count
        guard head * 2 >= entries.count else { return }
        entries.removeSubrange(..<head)
        head = 0
    }

    /// Removes the values of one batch from the waiting ones and returns them.
    private mutating func cut(at now: Moment) -> [Value] {
        var (values, bytes) = ([Value](), 0)
        for entry in waiting.prefix(policy.count) {
            guard values.isEmpty || bytes + entry.byteCount <= policy.bytes else { break }
            values.append(entry.value)
            bytes += entry.byteCount
        }
        remove(values.count)
        // If the last value made the batch due and was replaced since, the batch contains the new last value.
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

/// When collected values are sent as a batch, and how many may wait.
///
/// A batch is sent as soon as one of the limits is reached. Limits below one count as one.
public struct BatchPolicy: Hashable, Sendable {
    /// The maximum number of values in a batch; 200 by default.
    public var count: Int
    /// The maximum size of a batch in bytes, unless a single value is larger; 16 KiB by default.
    public var bytes: Int
    /// The maximum age of the oldest value of a batch before it is sent; 1 s by default.
    public var age: Duration
    /// The maximum number of values that may wait, without the batch being sent; 10,000 by default.
    ///
    /// If there is no room, the oldest value is dropped.
    public var capacity: Int
    /// The maximum number of bytes that may wait; 1 MiB by default.
    public var byteCapacity: Int

    /// Creates a policy.
    public init(
        count: Int = 200, bytes: Int = 16 << 10, age: Duration = .seconds(1), capacity: Int = 10_000, byteCapacity: Int = 1 << 20
    ) {
        (self.count, self.bytes, self.age) = (count, bytes, age)
        (self.capacity, self.byteCapacity) = (capacity, byteCapacity)
    }
}

/// Counts of what happened to recorded values.
///
/// Each value counts as recorded and in exactly one of the other counts.
public struct TelemetryCounts: Hashable, Sendable {
    /// The number of recorded values.
    public var recorded = 0
    /// The number of values that wait for their batch.
    public var waiting = 0
    /// The number of values in the batch that is being sent.
    public var leaving = 0
    /// The number of values sent: the socket took every byte of them.
    public var sent = 0
    /// The number of values that a connection had taken when it was lost.
    ///
    /// They may have arrived or not, and are not sent again.
    public var uncertain = 0
    /// The number of values left out because the link could not keep up.
    public var sampled = 0
    /// The number of values dropped for lack of room, or not sent at the end.
    public var dropped = 0
    /// The number of values that could not be encoded.
    public var unencodable = 0

    /// Creates counts of zero.
    public init() {}
}
