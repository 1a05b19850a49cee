import HoldfastTesting
import MachineCore
import StreamCore
import Testing

/// A batcher whose batches are taken at once and recorded.
struct BatcherHarness {
    var batcher: Batcher<Int>
    var now = Moment.start
    var batches: [[Int]] = []
    var takes = true

    init(_ policy: BatchPolicy) { batcher = Batcher(policy) }

    mutating func handle(_ input: Batcher<Int>.Input) {
        var effects: [Batcher<Int>.Effect] = []
        batcher.handle(input, at: now, into: &effects)
        perform(effects)
    }

    mutating func pass(_ time: Duration) {
        now = now + time
        var effects: [Batcher<Int>.Effect] = []
        batcher.wake(at: now, into: &effects)
        perform(effects)
    }

    mutating func record(_ values: some Sequence<Int>, byteCount: Int = 1) {
        for value in values { handle(.record(value, byteCount: byteCount)) }
    }

    private mutating func perform(_ effects: [Batcher<Int>.Effect]) {
        for effect in effects {
            switch effect {
            case .due: if takes { handle(.take) }
            case .hand(let values):
                batches.append(values)
                if takes { handle(.finished(sent: values.count, uncertain: 0, unencodable: 0)) }
            }
        }
    }
}

extension TelemetryCounts {
    /// Whether every recorded value is counted exactly once.
    var isWhole: Bool { recorded == waiting + leaving + sent + uncertain + sampled + dropped + unencodable }
}

@Suite struct TelemetryBatcherTests {
    @Test func `a batch is sent when it has enough values`() {
        var bench = BatcherHarness(BatchPolicy(count: 3))
        bench.record(1...7)
        #expect(bench.batches == [[1, 2, 3], [4, 5, 6]])
        #expect(bench.batcher.counts.waiting == 1 && bench.batcher.counts.sent == 6)
    }

    @Test func `a batch is sent when it has enough bytes, and has no more`() {
        var bench = BatcherHarness(BatchPolicy(bytes: 10))
        bench.record(1...3, byteCount: 4)
        #expect(bench.batches == [[1, 2]])
    }

    @Test func `a value above the batch size is sent alone`() {
        var bench = BatcherHarness(BatchPolicy(bytes: 10))
        bench.record([1], byteCount: 2)
        bench.record([2], byteCount: 50)
        #expect(bench.batches == [[1], [2]])
    }

    @Test func `a batch is sent when its oldest value is too old`() {
        var bench = BatcherHarness(BatchPolicy(age: .seconds(1)))
        #expect(bench.batcher.deadline == nil)
        bench.record([1])
        bench.pass(.milliseconds(600))
        bench.record([2])
        #expect(bench.batcher.deadline == .start + .seconds(1))
        bench.pass(.milliseconds(400))
        #expect(bench.batches == [[1, 2]] && bench.batcher.deadline == nil)
    }

    @Test func `a flush sends all waiting values, and no later ones`() {
        var bench = BatcherHarness(BatchPolicy(count: 10))
        bench.record(1...2)
        bench.handle(.flush)
        bench.record([3])
        #expect(bench.batches == [[1, 2]])
    }

    @Test func `one batch is sent at a time`() {
        var bench = BatcherHarness(BatchPolicy(count: 2))
        bench.takes = false
        bench.record(1...6)
        #expect(bench.batches.isEmpty)
        bench.handle(.take)
        bench.handle(.take)
        #expect(bench.batches == [[1, 2]] && bench.batcher.counts.leaving == 2)
        bench.handle(.finished(sent: 2, uncertain: 0, unencodable: 0))
        #expect(bench.batcher.phase == .due)
        bench.handle(.take)
        #expect(bench.batches == [[1, 2], [3, 4]])
    }

    @Test func `above the capacity the oldest values are dropped and counted`() {
        var bench = BatcherHarness(BatchPolicy(count: 10, capacity: 3))
        bench.record(1...5)
        bench.handle(.flush)
        #expect(bench.batches == [[3, 4, 5]] && bench.batcher.counts.dropped == 2)
        bench = BatcherHarness(BatchPolicy(byteCapacity: 10))
        bench.record(1...3, byteCount: 4)
        bench.record([4], byteCount: 11)
        bench.handle(.flush)
        #expect(bench.batches == [[2, 3]] && bench.batcher.counts.dropped == 2, "a value that can never fit drops no other")
    }

    @Test func `the result of a batch is counted, and unaccounted values count as dropped`() {
        var bench = BatcherHarness(BatchPolicy(count: 10))
        bench.takes = false
        bench.record(1...10)
        bench.handle(.take)
        bench.handle(.finished(sent: 4, uncertain: 3, unencodable: 1))
        let counts = bench.batcher.counts
        #expect((counts.sent, counts.uncertain, counts.unencodable, counts.dropped, counts.leaving) == (4, 3, 1, 2, 0))
    }

    @Test func `after the close values are refused, and waiting ones are sent`() {
        var bench = BatcherHarness(BatchPolicy(count: 10))
        bench.record([1])
        bench.handle(.close)
        bench.record([2])
        #expect(bench.batches == [[1]] && bench.batcher.counts.dropped == 1 && bench.batcher.isSettled(through: 2))
    }

    @Test func `at the end waiting values are dropped`() {
        var bench = BatcherHarness(BatchPolicy(count: 2))
        bench.takes = false
        bench.record(1...3)
        bench.handle(.end)
        #expect(bench.batcher.counts.dropped == 3 && bench.batcher.phase == .collecting && bench.batcher.counts.isWhole)
        bench.handle(.take)
        #expect(bench.batches.isEmpty)
    }

    @Test func `a flush is settled when all earlier values have a result`() {
        var bench = BatcherHarness(BatchPolicy(count: 2, capacity: 4))
        bench.takes = false
        bench.record(1...3)
        #expect(bench.batcher.isSettled(through: 0) && !bench.batcher.isSettled(through: 1))
        bench.handle(.take)
        #expect(!bench.batcher.isSettled(through: 2), "being sent")
        bench.handle(.finished(sent: 2, uncertain: 0, unencodable: 0))
        #expect(bench.batcher.isSettled(through: 2) && !bench.batcher.isSettled(through: 3))
        bench.record(4...7)
        #expect(bench.batcher.isSettled(through: 3), "dropped")
    }

    @Test func `a sampled series keeps an even share and always its last value`() {
        var bench = BatcherHarness(BatchPolicy(count: 100, age: .seconds(1)))
        bench.handle(.keep(.oneOf(4)))
        bench.record(1...10)
        bench.pass(.seconds(1))
        #expect(bench.batches == [[1, 5, 9, 10]] && bench.batcher.counts.sampled == 6)
        bench.record([11])
        #expect(bench.batcher.deadline == bench.now + .seconds(1))
        bench.pass(.seconds(1))
        #expect(bench.batches.last == [11], "a single value is the last of its series")
    }

    @Test(arguments: 0..<200 as Range<UInt64>)
    func `in random schedules each value is sent once in order or counted, within all limits`(seed: UInt64) throws {
        var chance = SplitMix64(seed: seed)
        let policy = BatchPolicy(
            count: .random(in: 1...8, using: &chance), bytes: .random(in: 1...30, using: &chance),
            age: .milliseconds(Int.random(in: 0...50, using: &chance)), capacity: .random(in: 1...20, using: &chance),
            byteCapacity: .random(in: 1...80, using: &chance))
        var (batcher, now, recorded) = (Batcher<Int>(policy), Moment.start, [(bytes: Int, at: Moment)]())
        var (handed, effects, isSampled) = ([Int](), [Batcher<Int>.Effect](), false)
        let takesAtOnce = Bool.random(using: &chance)
        func step(_ input: Batcher<Int>.Input?, _ effects: inout [Batcher<Int>.Effect], _ batcher: inout Batcher<Int>) {
            if let input { batcher.handle(input, at: now, into: &effects) } else { batcher.wake(at: now, into: &effects) }
        }
        for _ in 0..<400 {
            switch Int.random(in: 0..<20, using: &chance) {
            case 0..<9:
                let bytes = Int.random(in: 0...12, using: &chance)
                recorded.append((bytes, now))
                step(.record(recorded.count, byteCount: bytes), &effects, &batcher)
            case 9..<14:
                now = now + .milliseconds(Int.random(in: 0...20, using: &chance))
                step(nil, &effects, &batcher)
            case 14: step(.flush, &effects, &batcher)
            case 15:
                isSampled = true
                step(.keep(SampleShare(parts: .random(in: 1...1024, using: &chance))), &effects, &batcher)
            case 16..<18: step(.take, &effects, &batcher)
            default: if !takesAtOnce { step(.finished(sent: batcher.counts.leaving, uncertain: 0, unencodable: 0), &effects, &batcher) }
            }
            while !effects.isEmpty {
                switch effects.removeFirst() {
                case .due: if takesAtOnce { step(.take, &effects, &batcher) }
                case .hand(let values):
                    let bytes = values.reduce(0) { $0 + recorded[$1 - 1].bytes }
                    #expect(!values.isEmpty && values.count <= policy.count && (bytes <= policy.bytes || values.count == 1))
                    handed += values
                    if takesAtOnce { step(.finished(sent: values.count, uncertain: 0, unencodable: 0), &effects, &batcher) }
                }
            }
            try #require(batcher.counts.isWhole && batcher.counts.recorded == recorded.count)
            try #require(batcher.counts.waiting <= policy.capacity && batcher.waitingBytes <= policy.byteCapacity)
            if takesAtOnce { try #require(batcher.deadline.map { $0 > now } ?? true, "no value is too old") }
        }
        step(.close, &effects, &batcher)
        if batcher.phase == .handing { step(.finished(sent: batcher.counts.leaving, uncertain: 0, unencodable: 0), &effects, &batcher) }
        while batcher.phase == .due {
            effects = []
            step(.take, &effects, &batcher)
            if case .hand(let values)? = effects.first { handed += values }
            step(.finished(sent: batcher.counts.leaving, uncertain: 0, unencodable: 0), &effects, &batcher)
        }
        #expect(batcher.counts.waiting == 0 && batcher.counts.sent == handed.count && batcher.counts.isWhole)
        #expect(handed == Set(handed).sorted(), "once each and in order")
        if let last = recorded.last, last.bytes <= policy.byteCapacity { #expect(handed.last == recorded.count) }
        if !isSampled { #expect(batcher.counts.sampled == 0) }
    }

    @Test func `in every sequence of events a batcher of two reports due batches and counts all values`() throws {
        let inputs: [Batcher<Int>.Input] = [
            .record(1, byteCount: 1), .record(2, byteCount: 3), .keep(.oneOf(2)), .flush, .take,
            .finished(sent: 1, uncertain: 0, unencodable: 0), .close, .end,
        ]
        let policy = BatchPolicy(count: 2, bytes: 4, age: .seconds(2), capacity: 3, byteCapacity: 6)
        let states = try explore(Batcher<Int>(policy), inputs: inputs, depth: 5) { step in
            let batcher = step.after
            if case .finished? = step.input, step.before.counts.leaving < 1 { return }
            try #require(batcher.counts.waiting >= 0 && batcher.waitingBytes >= 0 && batcher.counts.isWhole, "\(step)")
            try #require(batcher.phase != .due || batcher.counts.waiting > 0, "\(step)")
            try #require(batcher.phase != .handing || batcher.counts.leaving > 0, "\(step)")
            let isReported = step.effects.contains { if case .due = $0 { true } else { false } }
            try #require(isReported == (batcher.phase == .due && (step.before.phase != .due || step.input == nil && isReported)), "\(step)")
        }
        #expect(states > 1000)
    }
}
