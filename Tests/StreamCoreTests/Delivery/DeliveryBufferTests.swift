import MachineCore
import StreamCore
import Testing

/// Examples of what each buffer keeps.
struct DeliveryBufferTests {
    @Test func `every value is kept in order, and the buffer is full at its capacity`() {
        var buffer = EveryValue<Int>(capacity: 3)
        #expect(buffer.deadline == nil)
        for value in 1...3 {
            #expect(!buffer.isFull)
            buffer.push(value, at: .start)
        }
        #expect(buffer.isFull)
        #expect(buffer.takeAll(at: .start) == [1, 2, 3])
        #expect(!buffer.isFull)
        #expect(buffer.counts == DeliveryCounts(received: 3, delivered: 3))
    }

    @Test func `only the newest values are kept`() {
        var buffer = NewestValues<Int>(limit: 2)
        for value in 1...5 { buffer.push(value, at: .start) }
        #expect(buffer.takeAll(at: .start) == [4, 5])
        #expect(buffer.counts == DeliveryCounts(received: 5, delivered: 2, dropped: 3))
    }

    @Test func `the latest value replaces the one before`() {
        var buffer = LatestValue<Int>()
        for value in 1...3 { buffer.push(value, at: .start) }
        #expect(buffer.takeAll(at: .start) == [3])
        #expect(buffer.counts == DeliveryCounts(received: 3, delivered: 1, conflated: 2))
    }

    @Test func `a latest value that the consumer already has is not delivered again`() {
        var buffer = LatestValue<Int>(unless: ==)
        buffer.push(1, at: .start)
        #expect(buffer.takeAll(at: .start) == [1])
        buffer.push(2, at: .start)
        buffer.push(1, at: .start)
        #expect(buffer.deadline == nil)
        #expect(buffer.takeAll(at: .start).isEmpty)
        buffer.push(2, at: .start)
        #expect(buffer.takeAll(at: .start) == [2])
        #expect(buffer.counts == DeliveryCounts(received: 4, delivered: 2, conflated: 2))
    }

    @Test func `by key the newest value of each is delivered, in the order of the first change`() {
        var buffer = LatestByKey<Character, String> { $0.first! }
        for value in ["b1", "a1", "c1", "a2", "b2"] { buffer.push(value, at: .start) }
        #expect(buffer.takeAll(at: .start) == ["b2", "a2", "c1"])
        buffer.push("c2", at: .start)
        buffer.push("b3", at: .start)
        #expect(buffer.takeAll(at: .start) == ["c2", "b3"])
        #expect(buffer.counts == DeliveryCounts(received: 7, delivered: 5, conflated: 2))
    }

    @Test func `with too many keys the longest waiting one is dropped and counted`() {
        var buffer = LatestByKey<Int, Int>(limit: 3) { $0 % 100 }
        for value in [1, 2, 3, 101, 4] { buffer.push(value, at: .start) }
        #expect(buffer.pending == 3)
        #expect(buffer.takeAll(at: .start) == [2, 3, 4])
        // It may return as a new key.
        buffer.push(201, at: .start)
        #expect(buffer.takeAll(at: .start) == [201])
        #expect(buffer.counts == DeliveryCounts(received: 6, delivered: 4, conflated: 1, dropped: 1))
    }

    @Test func `a paced buffer delivers the first value at once, and the next after its interval`() {
        var buffer = Paced(LatestValue<Int>(), perSecond: 10)
        buffer.push(1, at: .millisecond(500))
        #expect(buffer.take(at: .millisecond(500)) == 1)
        buffer.push(2, at: .millisecond(501))
        buffer.push(3, at: .millisecond(502))
        #expect(buffer.deadline == .millisecond(600))
        #expect(buffer.take(at: .millisecond(599)) == nil)
        #expect(buffer.take(at: .millisecond(600)) == 3)
        #expect(buffer.deadline == nil)
    }

    @Test func `a sampled buffer delivers the newest value at the end of each interval with a value`() {
        var buffer = Sampled(LatestValue<Int>(), every: .milliseconds(100))
        buffer.push(1, at: .millisecond(1000))
        buffer.push(2, at: .millisecond(1090))
        #expect(buffer.take(at: .millisecond(1099)) == nil)
        #expect(buffer.take(at: .millisecond(1100)) == 2)
        #expect(buffer.deadline == nil)
        buffer.push(3, at: .millisecond(1430))
        #expect(buffer.deadline == .millisecond(1500))
        // Too late for this interval, but in time for the next.
        #expect(buffer.take(at: .millisecond(1550)) == 3)
        buffer.push(4, at: .millisecond(1560))
        #expect(buffer.deadline == .millisecond(1600))
    }

    @Test func `a value that changed back gives no sample, and the next interval starts with the next value`() {
        var buffer = Sampled(LatestValue<Int>(unless: ==), every: .milliseconds(100))
        buffer.push(1, at: .start)
        #expect(buffer.take(at: .millisecond(100)) == 1)
        buffer.push(2, at: .millisecond(110))
        buffer.push(1, at: .millisecond(120))
        #expect(buffer.deadline == nil)
        buffer.push(3, at: .millisecond(250))
        #expect(buffer.deadline == .millisecond(300))
    }

    @Test func `a batch is complete at its count or its deadline`() {
        var buffer = Batched(EveryValue<Int>(capacity: 100), upTo: 3, within: .milliseconds(50))
        for value in 1...4 { buffer.push(value, at: .millisecond(value)) }
        #expect(buffer.deadline == .start)
        #expect(buffer.take(at: .millisecond(4)) == [1, 2, 3])
        // The first of the remaining values may have arrived with the others.
        #expect(buffer.deadline == .millisecond(51))
        buffer.push(5, at: .millisecond(40))
        #expect(buffer.take(at: .millisecond(50)) == nil)
        #expect(buffer.take(at: .millisecond(51)) == [4, 5])
        buffer.push(6, at: .millisecond(200))
        #expect(buffer.deadline == .millisecond(250))
    }

    @Test func `a batch that cannot grow is complete`() {
        var buffer = Batched(EveryValue<Int>(capacity: 2), upTo: 10, within: .seconds(1))
        buffer.push(1, at: .start)
        #expect(buffer.take(at: .start) == nil)
        buffer.push(2, at: .start)
        #expect(buffer.take(at: .start) == [1, 2])
    }

    @Test func `at the end a batch does not wait, but keeps the pace`() {
        var buffer = Paced(Batched(EveryValue<Int>(capacity: 100), upTo: 10, within: .seconds(60)), every: .seconds(1))
        buffer.push(1, at: .start)
        buffer.finish()
        #expect(buffer.take(at: .start) == [1])
        buffer.push(2, at: .start)
        #expect(buffer.deadline == Moment(.seconds(1)))
    }

    @Test func `a screen gets the newest value of each symbol at a limited rate`() {
        var buffer = Paced(Batched(LatestByKey<Int, Int>(by: { $0 % 10 }), upTo: 1000, within: .zero), perSecond: 50)
        var screens: [[Int]] = []
        for tick in 0..<1000 {
            let now = Moment.millisecond(tick)
            buffer.push(tick, at: now)
            if let batch = buffer.take(at: now) { screens.append(batch) }
        }
        #expect(screens.count == 50)
        #expect(screens.first == [0])
        #expect(screens.dropFirst().allSatisfy { $0.count == 10 && $0.last! - $0.first! == 9 })
    }

    @Test func `no duration is too short or too long`() {
        for interval in [Duration.zero, .seconds(-5), .seconds(Int64.max)] {
            var paced = Paced(Sampled(LatestValue<Int>(), every: interval), every: interval)
            var batched = Batched(LatestValue<Int>(), upTo: .max, within: interval)
            for now in [Moment.start, .millisecond(1), Moment(.seconds(1 << 40))] {
                paced.push(1, at: now)
                batched.push(1, at: now)
                _ = paced.take(at: now)
                _ = batched.take(at: now)
            }
            #expect(paced.counts.received == 3 && batched.counts.received == 3)
        }
    }
}

extension DeliveryBuffer {
    mutating func takeAll(at now: Moment) -> [Output] {
        var all: [Output] = []
        while let output = take(at: now) { all.append(output) }
        return all
    }
}

extension Moment {
    static func millisecond(_ count: Int) -> Moment { Moment(.milliseconds(count)) }
}

extension DeliveryCounts {
    init(received: Int, delivered: Int, conflated: Int = 0, dropped: Int = 0) {
        self.init()
        (self.received, self.delivered, self.conflated, self.dropped) = (received, delivered, conflated, dropped)
    }
}
