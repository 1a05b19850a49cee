import MachineCore
import SessionCore
import Testing

@Suite struct SendQueueCapacityTests {
    @Test func `a full queue refuses new messages by count and by bytes`() {
        var queue = DrivenQueue(.refuse, count: 2, bytes: 10)
        #expect(queue.submit(1, bytes: 6).isEmpty)
        #expect(queue.submit(2, .urgent, bytes: 5) == [.refused(2, .overflow)])
        #expect(queue.submit(3, bytes: 4).isEmpty)
        #expect(queue.submit(4, .urgent, bytes: 0) == [.refused(4, .overflow)])
        #expect(queue.machine.depth == SendVolume(count: 2, bytes: 10))
        #expect(queue.machine.dropped == 2)
    }

    @Test func `as many of the oldest messages are dropped as needed`() {
        var queue = DrivenQueue(.dropOldest, bytes: 10)
        for id in 1...3 as ClosedRange<UInt64> { queue.submit(id, bytes: 3) }
        #expect(queue.submit(4, bytes: 6) == [.refused(1, .dropped), .refused(2, .dropped)])
        #expect(queue.machine.dropped == 2)
        #expect(queue.drain() == [3, 4])
    }

    @Test func `the oldest message of the lowest lane is dropped first`() {
        var queue = DrivenQueue(.dropOldest, count: 4)
        for (id, lane) in [(1, .urgent), (2, .normal), (3, .bulk), (4, .bulk)] as [(UInt64, Lane)] { queue.submit(id, lane) }
        for (id, dropped) in [(5, 3), (6, 4), (7, 2), (8, 1)] as [(UInt64, UInt64)] {
            #expect(queue.submit(id, .urgent) == [.refused(dropped, .dropped)])
        }
    }

    @Test func `the newest message of the lowest lane is dropped, or the new message in its own lane`() {
        var queue = DrivenQueue(.dropNewest, count: 3)
        for (id, lane) in [(1, .bulk), (2, .bulk), (3, .normal)] as [(UInt64, Lane)] { queue.submit(id, lane) }
        #expect(queue.submit(4, .bulk) == [.refused(4, .overflow)])
        #expect(queue.submit(5, .normal) == [.refused(2, .dropped)])
        #expect(queue.submit(6, .urgent) == [.refused(1, .dropped)])
        #expect(queue.submit(7, .normal) == [.refused(7, .overflow)])
        #expect(queue.submit(8, .urgent) == [.refused(5, .dropped)])
        #expect(queue.machine.dropped == 5)
        #expect(queue.drain() == [6, 8, 3])
    }

    @Test(arguments: [.dropOldest, .dropNewest] as [SendPolicy.Overflow])
    func `no message is dropped for one of a lower lane`(overflow: SendPolicy.Overflow) {
        var queue = DrivenQueue(overflow, count: 2)
        queue.submit(1, .urgent)
        queue.submit(2, .normal)
        #expect(queue.submit(3, .bulk) == [.refused(3, .overflow)])
    }

    @Test(arguments: [.dropOldest, .dropNewest] as [SendPolicy.Overflow])
    func `no message is dropped if the new message would still not fit`(overflow: SendPolicy.Overflow) {
        var queue = DrivenQueue(overflow, bytes: 10)
        queue.submit(1, .urgent, bytes: 6)
        queue.submit(2, .bulk, bytes: 4)
        #expect(queue.submit(3, .normal, bytes: 5) == [.refused(3, .overflow)])
        #expect(queue.submit(4, .normal, bytes: 4) == [.refused(2, .dropped)])
    }

    @Test(arguments: [.dropOldest, .dropNewest] as [SendPolicy.Overflow])
    func `a handed-over message is not dropped`(overflow: SendPolicy.Overflow) {
        var queue = DrivenQueue(overflow, count: 2)
        queue.handle(.opened)
        queue.submit(1, .bulk)
        queue.submit(2, .bulk)
        #expect(queue.submit(3, .urgent) == [.refused(2, .dropped)])
        queue.submit(4, .urgent)
        #expect(queue.handle(.blocked(1)).isEmpty)
        #expect(queue.machine.depth.count == 2, "its place was kept")
    }

    @Test func `a message above the capacity does not wait, but may be sent at once`() {
        var queue = DrivenQueue(.dropOldest, bytes: 10)
        queue.submit(1)
        #expect(queue.submit(2, bytes: 11) == [.refused(2, .tooLarge)])
        #expect(queue.drain() == [1])
        #expect(queue.submit(3, bytes: 11) == [.transmit(3), .recall(3)])
        #expect(queue.submit(4, bytes: 10).isEmpty, "message 3 uses no capacity")
        #expect(queue.handle(.taken(3)) == [.transmit(4)])
        queue.handle(.taken(4))
        queue.submit(5, bytes: 11)
        #expect(queue.handle(.blocked(5)) == [.refused(5, .tooLarge)])
        #expect(queue.machine.dropped == 0)
    }

    @Test func `a queue with capacity 0 sends only messages that need not wait`() {
        var queue = DrivenQueue(.dropOldest, count: 0)
        #expect(queue.submit(1) == [.refused(1, .tooLarge)])
        queue.handle(.opened)
        #expect(queue.submit(2) == [.transmit(2), .recall(2)])
        #expect(queue.handle(.lost) == [.refused(2, .tooLarge)])
    }

    @Test func `the capacity of ended messages is free again`() {
        var queue = DrivenQueue(.refuse, count: 1)
        queue.submit(1, patience: 5)
        queue.handle(.withdraw(1))
        #expect(queue.submit(2, patience: 5).isEmpty)
        #expect(queue.submit(3, at: 5) == [.refused(2, .timedOut)])
        #expect(queue.drain() == [3])
        #expect(queue.submit(4) == [.transmit(4)])
    }
}
