import MachineCore
import Testing

@testable import SessionCore

/// Each of these takes minutes if one step takes time that grows with the queue.
@Suite(.timeLimit(.minutes(1))) struct SendQueueScaleTests {
    static let ids = 1...100_000 as ClosedRange<UInt64>

    /// A queue of 100 000 messages in all lanes, the later the less patient.
    private func crowd() -> SendQueue {
        let capacity = SendVolume(count: Self.ids.count, bytes: Self.ids.count)
        var queue = SendQueue(policy: SendPolicy(whileDisconnected: .queue, capacity: capacity, overflow: .dropOldest))
        var effects: [SendQueue.Effect] = []
        for id in Self.ids {
            let lane = Lane.allCases[Int(id % 3)]
            queue.handle(.submit(id: id, lane: lane, byteCount: 1, patience: .seconds(200_000 - Int(id))), at: .start, into: &effects)
        }
        return queue
    }

    @Test func `a crowd goes out, each lane in order`() {
        var queue = crowd()
        var effects: [SendQueue.Effect] = []
        var sent: [UInt64] = []
        queue.handle(.opened, at: .start, into: &effects)
        while case .transmit(let id)? = effects.popLast() {
            sent.append(id)
            queue.handle(.taken(id), at: .start, into: &effects)
        }
        let isInOrder = sent == [2, 1, 0].flatMap { lane in Self.ids.filter { $0 % 3 == lane } }
        #expect(isInOrder)  // Two long lists would take long to print.
        #expect(queue.deadlines.count == 0)
    }

    @Test func `a crowd times out in the order of its deadlines`() {
        var queue = crowd()
        var effects: [SendQueue.Effect] = []
        for _ in Self.ids { queue.wake(at: queue.deadline ?? .start, into: &effects) }
        let isInOrder = effects == Self.ids.reversed().map { .refused($0, .timedOut) }
        #expect(isInOrder)
    }

    @Test func `a crowd withdraws`() {
        var queue = crowd()
        var effects: [SendQueue.Effect] = []
        for id in Self.ids { queue.handle(.withdraw(id), at: .start, into: &effects) }
        #expect(effects.count == Self.ids.count)
        #expect(queue.deadlines.count == 0)
    }

    @Test func `a crowd is pushed out by another`() {
        var queue = crowd()
        var effects: [SendQueue.Effect] = []
        for id in Self.ids {
            let send = SendQueue.Input.submit(id: id + 100_000, lane: .urgent, byteCount: 1, patience: .seconds(1))
            queue.handle(send, at: .start, into: &effects)
        }
        #expect(effects.count == Self.ids.count)
        #expect(queue.depth.count == Self.ids.count)
    }

    @Test func `deadlines of what is gone do not pile up behind one that stays`() throws {
        var queue = SendQueue(policy: SendPolicy(whileDisconnected: .queue))
        var effects: [SendQueue.Effect] = []
        queue.handle(.submit(id: 0, lane: .normal, byteCount: 1, patience: .seconds(1)), at: .start, into: &effects)
        for id in Self.ids {
            queue.handle(.submit(id: id, lane: .normal, byteCount: 1, patience: .seconds(2)), at: .start, into: &effects)
            queue.handle(.withdraw(id), at: .start, into: &effects)
            try #require(queue.deadlines.count < 20)
        }
    }

    @Test func `a crowd that waits as long as the policy says goes in the order in which it came`() {
        var queue = SendQueue(policy: SendPolicy(whileDisconnected: .wait(.seconds(1))))
        var effects: [SendQueue.Effect] = []
        for id in Self.ids {
            queue.handle(.submit(id: id, lane: Lane.allCases[Int(id % 3)], byteCount: 1, patience: nil), at: moment(id), into: &effects)
            if id > 50 { queue.handle(.withdraw(id), at: moment(id), into: &effects) }
        }
        #expect(queue.arrivals.count < 120, "what is gone does not pile up")
        effects = []
        for _ in 1...50 { queue.wake(at: queue.deadline ?? .start, into: &effects) }
        #expect(effects == (1...50).map { .refused($0, .timedOut) } && queue.deadline == nil)
    }

    private func moment(_ id: UInt64) -> Moment { Moment(.nanoseconds(id)) }

    @Test func `what stays keeps its deadlines when those of many others are cleared away`() {
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
