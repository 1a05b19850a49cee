import MachineCore
import Testing

@testable import SessionCore

/// Each test takes minutes if the time of a step grows with the queue.
@Suite(.timeLimit(.minutes(1))) struct SendQueueScaleTests {
    static let ids = 1...100_000 as ClosedRange<UInt64>

    /// A queue of 100 000 messages in all lanes.
    ///
    /// Later messages have earlier deadlines.
    private func fullQueue() -> SendQueue {
        let capacity = SendVolume(count: Self.ids.count, bytes: Self.ids.count)
        var queue = SendQueue(policy: SendPolicy(whileDisconnected: .queue, capacity: capacity, overflow: .dropOldest))
        var effects: [SendQueue.Effect] = []
        for id in Self.ids {
            let lane = Lane.allCases[Int(id % 3)]
            queue.handle(.submit(id: id, lane: lane, byteCount: 1, patience: .seconds(200_000 - Int(id))), at: .start, into: &effects)
        }
        return queue
    }

    @Test func `100 000 messages are sent, each lane in order`() {
        var queue = fullQueue()
        var effects: [SendQueue.Effect] = []
        var sent: [UInt64] = []
        queue.handle(.opened, at: .start, into: &effects)
        while case .transmit(let id)? = effects.popLast() {
            sent.append(id)
            queue.handle(.taken(id), at: .start, into: &effects)
        }
        let isInOrder = sent == [2, 1, 0].flatMap { lane in Self.ids.filter { $0 % 3 == lane } }
        #expect(isInOrder)  // The lists are too long to print.
        #expect(queue.deadlines.count == 0)
    }

    @Test func `100 000 messages time out in the order of their deadlines`() {
        var queue = fullQueue()
        var effects: [SendQueue.Effect] = []
        for _ in Self.ids { queue.wake(at: queue.deadline ?? .start, into: &effects) }
        let isInOrder = effects == Self.ids.reversed().map { .refused($0, .timedOut) }
        #expect(isInOrder)
    }

    @Test func `100 000 messages are withdrawn`() {
        var queue = fullQueue()
        var effects: [SendQueue.Effect] = []
        for id in Self.ids { queue.handle(.withdraw(id), at: .start, into: &effects) }
        #expect(effects.count == Self.ids.count)
        #expect(queue.deadlines.count == 0)
    }

    @Test func `100 000 messages are dropped for 100 000 others`() {
        var queue = fullQueue()
        var effects: [SendQueue.Effect] = []
        for id in Self.ids {
            let send = SendQueue.Input.submit(id: id + 100_000, lane: .urgent, byteCount: 1, patience: .seconds(1))
            queue.handle(send, at: .start, into: &effects)
        }
        #expect(effects.count == Self.ids.count)
        #expect(queue.depth.count == Self.ids.count)
    }

    @Test func `deadlines of ended messages do not accumulate behind a pending one`() throws {
        var queue = SendQueue(policy: SendPolicy(whileDisconnected: .queue))
        var effects: [SendQueue.Effect] = []
        queue.handle(.submit(id: 0, lane: .normal, byteCount: 1, patience: .seconds(1)), at: .start, into: &effects)
        for id in Self.ids {
            queue.handle(.submit(id: id, lane: .normal, byteCount: 1, patience: .seconds(2)), at: .start, into: &effects)
            queue.handle(.withdraw(id), at: .start, into: &effects)
            try #require(queue.deadlines.count < 20)
        }
    }

    @Test func `messages with the policy's timeout time out in the order of submission`() {
        var queue = SendQueue(policy: SendPolicy(whileDisconnected: .wait(.seconds(1))))
        var effects: [SendQueue.Effect] = []
        for id in Self.ids {
            queue.handle(.submit(id: id, lane: Lane.allCases[Int(id % 3)], byteCount: 1, patience: nil), at: moment(id), into: &effects)
            if id > 50 { queue.handle(.withdraw(id), at: moment(id), into: &effects) }
        }
        #expect(queue.arrivals.count < 120, "ended messages do not accumulate")
        effects = []
        for _ in 1...50 { queue.wake(at: queue.deadline ?? .start, into: &effects) }
        #expect(effects == (1...50).map { .refused($0, .timedOut) } && queue.deadline == nil)
    }

    private func moment(_ id: UInt64) -> Moment { Moment(.nanoseconds(id)) }

    @Test func `pending messages keep their deadlines when many others are removed`() {
        var queue = SendQueue(policy: SendPolicy(whileDisconnected: .queue))
        var effects: [SendQueue.Effect] = []
        let patience = { (id: UInt64) in Int(id * 37 % 101) }
        for id in 1...100 as ClosedRange<UInt64> {
            queue.handle(.submit(id: id, lane: .normal, byteCount: 1, patience: .seconds(patience(id))), at: .start, into: &effects)
        }
        for id in 1...100 as ClosedRange<UInt64> where patience(id) > 30 { queue.handle(.withdraw(id), at: .start, into: &effects) }
        #expect(queue.deadlines.count < 100)
        effects.removeAll()
        for second in 1...30 { queue.wake(at: Moment(.seconds(second)), into: &effects) }
        let ids = (1...100 as ClosedRange<UInt64>).filter { patience($0) <= 30 }.sorted { patience($0) < patience($1) }
        #expect(effects == ids.map { .refused($0, .timedOut) })
    }
}
