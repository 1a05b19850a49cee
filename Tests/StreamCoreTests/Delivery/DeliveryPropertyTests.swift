import MachineCore
import StreamCore
import Testing

/// Invariants in random sequences of pushes, takes and time.
struct DeliveryPropertyTests {
    struct Tick: Hashable, Sendable {
        let key: Int
        let version: Int
    }

    @Test(arguments: 0..<200 as Range<UInt64>)
    func `by key the consumer gets the newest of each, in the order of the first change`(_ seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let keys = Int.random(in: 1...40, using: &random)
        var world = DeliveryWorld(LatestByKey<Int, Tick>(limit: 40) { $0.key })
        // The waiting keys, in the order of their first change.
        var waiting: [Int] = []
        for version in 0..<2000 {
            if Int.random(in: 0..<3, using: &random) > 0 {
                let key = Int.random(in: 0..<keys, using: &random)
                if !waiting.contains(key) { waiting.append(key) }
                world.push(Tick(key: key, version: version))
            } else if let tick = world.take() {
                #expect(tick.key == waiting.removeFirst())
            }
            #expect(world.buffer.pending <= 40)
        }
        world.drain()
        #expect(world.seen == world.newest)
        #expect(world.buffer.counts.dropped == 0)
    }

    @Test(arguments: 0..<100 as Range<UInt64>)
    func `with too many keys each delivered value is still the newest of its key, and the others are counted`(_ seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let limit = Int.random(in: 1...20, using: &random)
        var world = DeliveryWorld(LatestByKey<Int, Tick>(limit: limit) { $0.key })
        for version in 0..<2000 {
            if Int.random(in: 0..<4, using: &random) > 0 {
                world.push(Tick(key: Int.random(in: 0..<60, using: &random), version: version))
            } else if let tick = world.take() {
                #expect(tick == world.newest[tick.key])
            }
            #expect(world.buffer.pending <= limit)
        }
        world.drain()
    }

    @Test(arguments: 0..<100 as Range<UInt64>)
    func `a paced consumer gets values within its rate, the first at once, and the newest of each at the end`(_ seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let rate = Int.random(in: 1...120, using: &random)
        var world = DeliveryWorld(Paced(LatestByKey<Int, Tick> { $0.key }, perSecond: rate))
        for version in 0..<3000 { world.step(version, &random) }
        world.drain()
        #expect(world.seen == world.newest)
        #expect(world.takenAt.first == world.firstPush)
        for (index, moment) in world.takenAt.enumerated() where index >= rate {
            #expect(moment - world.takenAt[index - rate] >= .seconds(1))
        }
    }

    @Test(arguments: 0..<100 as Range<UInt64>)
    func `paced batches are complete, within their limits, and end with the newest values`(_ seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let limit = Int.random(in: 1...50, using: &random)
        let window = Duration.milliseconds(Int.random(in: 0...40, using: &random))
        var world = DeliveryBatchWorld(Batched(LatestByKey<Int, Tick> { $0.key }, upTo: limit, within: window))
        for version in 0..<3000 {
            world.step(version, &random)
            // No value waits longer than the window.
            if let oldest = world.oldest, let deadline = world.buffer.deadline { #expect(deadline <= oldest + window) }
        }
        world.drain()
        #expect(world.seen == world.newest)
        #expect(world.sizes.allSatisfy { 1...limit ~= $0 })
    }

    @Test(arguments: 0..<100 as Range<UInt64>)
    func `a sampled consumer gets at most one value per interval, the newest, and the last`(_ seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let interval = Duration.milliseconds(Int.random(in: 1...50, using: &random))
        var world = DeliveryWorld(Sampled(LatestValue<Tick>(), every: interval))
        for version in 0..<3000 { world.step(version, &random) }
        world.drain()
        #expect(world.last?.version == world.newest.values.map(\.version).max())
        let places = world.takenAt.map { ($0 - world.firstPush!) / interval }.map { Int($0) }
        #expect(Set(places).count == places.count)
        #expect(places.first! >= 1)
    }

    @Test(arguments: 0..<50 as Range<UInt64>)
    func `each received value was delivered, conflated or dropped, or waits`(_ seed: UInt64) {
        let buffers: [any DeliveryBuffer<Tick, Tick>] = [
            EveryValue(capacity: 10), NewestValues(limit: 7), LatestValue(), LatestValue(unless: { $0.key == $1.key }),
            LatestByKey(limit: 5) { $0.key }, Sampled(NewestValues(limit: 3), every: .milliseconds(7)),
            Paced(Sampled(LatestValue(), every: .milliseconds(3)), perSecond: 200),
        ]
        for buffer in buffers {
            var random = SplitMix64(seed: seed)
            func run<Buffer: DeliveryBuffer<Tick, Tick>>(_ buffer: Buffer) {
                var world = DeliveryWorld(buffer)
                for version in 0..<500 { world.step(version, &random) }
                world.drain()
            }
            run(buffer)
        }
    }

    @Test func `a million values of many keys use the memory of ten thousand`() {
        var buffer = LatestByKey<Int, Tick> { $0.key }
        for version in 0..<1_000_000 {
            buffer.push(Tick(key: version % 20_000, version: version), at: .start)
            if buffer.pending > 10_000 { Issue.record("\(buffer.pending) keys wait") }
        }
        let rest = buffer.takeAll(at: .start)
        #expect(rest.map(\.version) == Array(990_000..<1_000_000))
    }
}

/// A consumer with its expected values.
private struct DeliveryWorld<Buffer: DeliveryBuffer<DeliveryPropertyTests.Tick, DeliveryPropertyTests.Tick>> {
    typealias Tick = DeliveryPropertyTests.Tick
    var buffer: Buffer
    private(set) var now = Moment.start
    private(set) var newest: [Int: Tick] = [:]
    private(set) var seen: [Int: Tick] = [:]
    private(set) var last: Tick?
    /// The times of all takes.
    private(set) var takenAt: [Moment] = []
    private(set) var firstPush: Moment?

    init(_ buffer: Buffer) { self.buffer = buffer }

    mutating func push(_ tick: Tick) {
        firstPush = firstPush ?? now
        newest[tick.key] = tick
        buffer.push(tick, at: now)
        check()
    }

    @discardableResult mutating func take() -> Tick? {
        let isDue = buffer.deadline.map { $0 <= now } ?? false
        let tick = buffer.take(at: now)
        #expect((tick != nil) == isDue)
        if let tick {
            #expect(tick.version > seen[tick.key]?.version ?? -1)
            seen[tick.key] = tick
            last = tick
            takenAt.append(now)
        }
        check()
        return tick
    }

    mutating func step(_ version: Int, _ random: inout SplitMix64) {
        switch Int.random(in: 0..<4, using: &random) {
        case 0...1: if !buffer.isFull { push(Tick(key: Int.random(in: 0..<30, using: &random), version: version)) }
        case 2: now = now + .microseconds(Int.random(in: 0...8000, using: &random))
        default: break
        }
        if takenAt.isEmpty || Bool.random(using: &random) { take() }
    }

    /// Takes the remaining values when they are due.
    mutating func drain() {
        buffer.finish()
        while let deadline = buffer.deadline {
            now = max(now, deadline)
            #expect(take() != nil)
        }
        #expect(buffer.pending == 0)
    }

    private func check() {
        let counts = buffer.counts
        #expect(counts.received == counts.delivered + counts.conflated + counts.dropped + buffer.pending)
    }
}

/// The same for batches.
private struct DeliveryBatchWorld {
    typealias Tick = DeliveryPropertyTests.Tick
    var buffer: Batched<LatestByKey<Int, Tick>>
    private(set) var now = Moment.start
    private(set) var newest: [Int: Tick] = [:]
    private(set) var seen: [Int: Tick] = [:]
    private(set) var sizes: [Int] = []
    /// The time since which each key waits.
    private var since: [Int: Moment] = [:]
    var oldest: Moment? { since.values.min() }

    init(_ buffer: Batched<LatestByKey<Int, Tick>>) { self.buffer = buffer }

    mutating func step(_ version: Int, _ random: inout SplitMix64) {
        switch Int.random(in: 0..<4, using: &random) {
        case 0...1:
            let tick = Tick(key: Int.random(in: 0..<30, using: &random), version: version)
            newest[tick.key] = tick
            since[tick.key] = since[tick.key] ?? now
            buffer.push(tick, at: now)
        case 2: now = now + .microseconds(Int.random(in: 0...8000, using: &random))
        default: take()
        }
    }

    private mutating func take() {
        let isDue = buffer.deadline.map { $0 <= now } ?? false
        let batch = buffer.take(at: now)
        #expect((batch != nil) == isDue)
        guard let batch else { return }
        sizes.append(batch.count)
        for tick in batch {
            #expect(tick.version > seen[tick.key]?.version ?? -1)
            seen[tick.key] = tick
            since[tick.key] = nil
        }
    }

    mutating func drain() {
        buffer.finish()
        while let deadline = buffer.deadline {
            now = max(now, deadline)
            take()
        }
        #expect(buffer.pending == 0)
    }
}
