import MachineCore
import SessionCore
import Testing

@Suite struct SendQueueTests {
    // MARK: Order

    @Test func `a message is sent at once to a free connection, and the next one after it was taken`() {
        var queue = DrivenQueue(.queue)
        #expect(queue.handle(.opened).isEmpty)
        #expect(queue.submit(1) == [.transmit(1)])
        #expect(queue.submit(2).isEmpty)
        #expect(queue.handle(.taken(1)) == [.transmit(2)])
        #expect(queue.handle(.taken(2)).isEmpty)
        #expect(queue.machine.phase == .ready)
    }

    @Test func `waiting messages are sent by lane, and in order within a lane`() {
        var queue = DrivenQueue(.queue, capacity: SendVolume(count: 6, bytes: 6))
        for (id, lane) in zip(1...6 as ClosedRange<UInt64>, [.bulk, .normal, .urgent, .bulk, .normal, .urgent] as [Lane]) {
            #expect(queue.submit(id, lane).isEmpty)
        }
        #expect(queue.drain() == [3, 6, 2, 5, 1, 4])
    }

    @Test func `a blocked message stays first in its lane`() {
        var queue = DrivenQueue(.queue)
        queue.handle(.opened)
        queue.submit(1)
        queue.submit(2)
        #expect(queue.handle(.blocked(1)).isEmpty)
        #expect(queue.submit(3).isEmpty)
        #expect(queue.handle(.room) == [.transmit(1)])
        #expect(queue.handle(.taken(1)) == [.transmit(2)])
    }

    @Test func `an urgent message overtakes a blocked one`() {
        var queue = DrivenQueue(.queue)
        queue.handle(.opened)
        queue.submit(1)
        queue.handle(.blocked(1))
        queue.submit(2, .urgent)
        #expect(queue.handle(.room) == [.transmit(2)])
        #expect(queue.handle(.taken(2)) == [.transmit(1)])
    }

    @Test func `withdrawing a message keeps the order of the others`() {
        var queue = DrivenQueue(.queue)
        for id in 1...3 as ClosedRange<UInt64> { queue.submit(id) }
        #expect(queue.handle(.withdraw(2)) == [.refused(2, .withdrawn)])
        queue.submit(4)
        #expect(queue.drain() == [1, 3, 4])
    }

    // MARK: Passing through

    @Test func `a message may pass through only if the connection accepts and no message is pending`() {
        var queue = DrivenQueue(.queue)
        #expect(!queue.machine.passesThrough, "no connection")
        queue.handle(.opened)
        #expect(queue.machine.passesThrough)
        queue.submit(1)
        #expect(!queue.machine.passesThrough, "message 1 is handed over but could still return")
        queue.handle(.blocked(1))
        #expect(!queue.machine.passesThrough, "the connection is full")
        queue.handle(.withdraw(1))
        #expect(!queue.machine.passesThrough, "the connection is full, although no message waits")
        queue.handle(.room)
        #expect(queue.machine.passesThrough)
        queue.handle(.close)
        #expect(!queue.machine.passesThrough)
    }

    @Test func `queued messages are sent before a message may pass through`() {
        var queue = DrivenQueue(.queue)
        queue.submit(1, .bulk)
        queue.handle(.opened)
        #expect(!queue.machine.passesThrough)
        queue.handle(.taken(1))
        #expect(queue.machine.passesThrough)
    }

    // MARK: No connection

    @Test func `the queue policy keeps messages that a lost connection did not take`() {
        var queue = DrivenQueue(.queue)
        queue.handle(.opened)
        queue.submit(1)
        queue.submit(2)
        #expect(queue.handle(.lost).isEmpty)
        #expect(queue.drain() == [1, 2])
    }

    @Test func `the wait policy keeps messages that a lost connection did not take`() {
        var queue = DrivenQueue(.wait(.seconds(5)))
        queue.handle(.opened)
        queue.submit(1)
        queue.submit(2)
        #expect(queue.handle(.lost).isEmpty)
        #expect(queue.drain() == [1, 2])
    }

    @Test func `the fail policy refuses messages without a connection or from a lost one`() {
        var queue = DrivenQueue(.fail)
        #expect(queue.submit(1) == [.refused(1, .disconnected)])
        queue.handle(.opened)
        queue.submit(2)
        queue.submit(3)
        queue.submit(4, .urgent)
        #expect(queue.handle(.lost) == [.refused(4, .disconnected), .refused(2, .disconnected), .refused(3, .disconnected)])
    }

    @Test(arguments: [.wait(.seconds(5)), .queue, .fail] as [SendPolicy.WhileDisconnected])
    func `senders wait for a full connection with every policy`(policy: SendPolicy.WhileDisconnected) {
        var queue = DrivenQueue(policy)
        queue.handle(.opened)
        queue.submit(1)
        queue.handle(.blocked(1))
        #expect(queue.submit(2).isEmpty)
        #expect(queue.wake(at: 1000).isEmpty, "without a deadline they keep waiting")
        #expect(queue.handle(.room) == [.transmit(1)])
    }

    @Test func `the capacity does not limit waiting senders`() {
        var queue = DrivenQueue(.wait(.seconds(5)), capacity: SendVolume(count: 1, bytes: 1))
        for id in 1...3 as ClosedRange<UInt64> { #expect(queue.submit(id, bytes: 100).isEmpty) }
        #expect(queue.machine.depth == SendVolume(count: 3, bytes: 300))
    }

    // MARK: Time

    @Test func `a message waits until its own deadline`() {
        var queue = DrivenQueue(.queue)
        queue.submit(1, patience: 9, at: 1)
        queue.submit(2, patience: 3, at: 2)
        queue.submit(3, at: 3)
        #expect(queue.machine.deadline == Moment(.seconds(5)))
        #expect(queue.wake(at: 4).isEmpty)
        #expect(queue.wake(at: 5) == [.refused(2, .timedOut)])
        #expect(queue.machine.deadline == Moment(.seconds(10)))
        #expect(queue.wake(at: 10) == [.refused(1, .timedOut)])
        #expect(queue.machine.deadline == nil, "message 3 has no deadline")
    }

    @Test func `the wait policy counts from the submission, and again from a loss`() {
        var queue = DrivenQueue(.wait(.seconds(5)))
        queue.submit(1, at: 1)
        queue.submit(2, .urgent, at: 3)
        #expect(queue.machine.deadline == Moment(.seconds(6)))
        #expect(queue.wake(at: 6) == [.refused(1, .timedOut)])
        #expect(queue.machine.deadline == Moment(.seconds(8)))
        queue.handle(.opened, at: 7)
        queue.handle(.blocked(2))
        #expect(queue.machine.deadline == nil, "it waits for the connection to drain, not for a connection")
        queue.handle(.lost, at: 10)
        queue.submit(3, at: 12)
        #expect(queue.wake(at: 15) == [.refused(2, .timedOut)])
        #expect(queue.wake(at: 17) == [.refused(3, .timedOut)])
    }

    @Test func `a message's own timeout replaces the policy's`() {
        var queue = DrivenQueue(.wait(.seconds(5)))
        queue.submit(1, patience: 9, at: 0)
        queue.submit(2, patience: 3, at: 0)
        queue.submit(3, at: 0)
        #expect(queue.wake(at: 3) == [.refused(2, .timedOut)])
        #expect(queue.wake(at: 8) == [.refused(3, .timedOut)])
        #expect(queue.machine.deadline == Moment(.seconds(9)))
        #expect(queue.wake(at: 9) == [.refused(1, .timedOut)])
    }

    @Test func `with timeout zero a message is sent at once or refused`() {
        var queue = DrivenQueue(.queue)
        #expect(queue.submit(1, patience: 0) == [.refused(1, .timedOut)])
        queue.handle(.opened)
        #expect(queue.submit(2, patience: 0) == [.transmit(2), .recall(2)])
        #expect(queue.submit(3, patience: 0) == [.refused(3, .timedOut)])
        #expect(queue.handle(.blocked(2)) == [.refused(2, .timedOut)])
    }

    @Test func `the wait policy with timeout zero refuses messages that a lost connection did not take`() {
        var queue = DrivenQueue(.wait(.zero))
        queue.handle(.opened)
        queue.submit(1)
        #expect(queue.handle(.lost) == [.refused(1, .timedOut)])
        #expect(queue.submit(2) == [.refused(2, .timedOut)])
    }

    @Test func `a new connection gets no overdue message`() {
        var queue = DrivenQueue(.queue)
        queue.submit(1, patience: 5, at: 0)
        queue.submit(2, at: 0)
        #expect(queue.handle(.opened, at: 5) == [.refused(1, .timedOut), .transmit(2)])
    }

    @Test func `the deadline of an ended message is removed`() {
        var queue = DrivenQueue(.queue)
        for (id, patience) in [(1, 7), (2, 5), (3, 6)] as [(UInt64, Int)] { queue.submit(id, patience: patience) }
        queue.handle(.withdraw(3))
        queue.handle(.withdraw(2))
        #expect(queue.machine.deadline == Moment(.seconds(7)))
        #expect(queue.drain() == [1])
        #expect(queue.machine.deadline == nil)
    }

    // MARK: Handed over

    @Test func `a handed-over message can be withdrawn only if it is not taken`() {
        for (answer, effects) in [
            (.taken(1), [.transmit(2)]),
            (.blocked(1), [.refused(1, .withdrawn)]),
            (.lost, [.refused(1, .withdrawn)]),
        ] as [(SendQueue.Input, [SendQueue.Effect])] {
            var queue = DrivenQueue(.queue)
            queue.handle(.opened)
            queue.submit(1)
            queue.submit(2)
            #expect(queue.handle(.withdraw(1)) == [.recall(1)])
            #expect(queue.machine.depth.count == 1, "it will not wait again")
            #expect(queue.handle(answer) == effects)
        }
    }

    @Test func `a timeout of a handed-over message counts only if it is not taken`() {
        var queue = DrivenQueue(.queue)
        queue.handle(.opened)
        queue.submit(1, patience: 5)
        #expect(queue.wake(at: 5) == [.recall(1)])
        #expect(queue.machine.deadline == nil, "no deadline while the answer is pending")
        #expect(queue.handle(.withdraw(1)).isEmpty)
        #expect(queue.handle(.blocked(1)) == [.refused(1, .timedOut)])
        #expect(queue.machine.phase == .blocked)
    }

    @Test func `answers for a message that was not handed over are ignored`() {
        var queue = DrivenQueue(.queue)
        queue.submit(1)
        for input in [.taken(1), .blocked(1), .room, .lost] as [SendQueue.Input] { #expect(queue.handle(input).isEmpty) }
        queue.handle(.opened)
        let before = queue.machine
        for input in [.taken(2), .blocked(2), .room, .opened] as [SendQueue.Input] { #expect(queue.handle(input).isEmpty) }
        #expect(queue.machine == before)
    }

    @Test func `a pending id is not accepted for another message`() {
        var queue = DrivenQueue(.queue)
        queue.handle(.opened)
        queue.submit(1)
        queue.submit(2)
        queue.handle(.withdraw(1))
        for id in [1, 2] as [UInt64] { #expect(queue.submit(id, .urgent).isEmpty) }
        #expect(queue.handle(.taken(1)) == [.transmit(2)])
        queue.submit(1)
        #expect(queue.handle(.taken(2)) == [.transmit(1)], "an ended id may be used again")
    }

    // MARK: Closing

    @Test func `closing refuses waiting and later messages`() {
        var queue = DrivenQueue(.queue)
        queue.submit(1, patience: 5)
        queue.submit(2, .urgent)
        #expect(queue.handle(.close) == [.refused(2, .closed), .refused(1, .closed)])
        #expect(queue.submit(3) == [.refused(3, .closed)])
        #expect(queue.handle(.opened).isEmpty)
        #expect(queue.handle(.close).isEmpty)
        #expect(queue.machine.phase == .closed)
        #expect(queue.machine.deadline == nil)
    }

    @Test func `a message that was handed over before the close ends by the connection's answer`() {
        for (answer, effects) in [
            (.taken(1), []), (.blocked(1), [.refused(1, .closed)]), (.lost, [.refused(1, .closed)]),
        ] as [(SendQueue.Input, [SendQueue.Effect])] {
            var queue = DrivenQueue(.queue)
            queue.handle(.opened)
            queue.submit(1)
            queue.submit(2)
            #expect(queue.handle(.close) == [.refused(2, .closed)])
            #expect(queue.submit(1).isEmpty)
            #expect(queue.handle(answer) == effects)
            #expect(queue.machine.phase == .closed)
        }
    }

    @Test func `a message withdrawn before the close stays withdrawn`() {
        var queue = DrivenQueue(.queue)
        queue.handle(.opened)
        queue.submit(1)
        queue.handle(.withdraw(1))
        queue.handle(.close)
        #expect(queue.handle(.lost) == [.refused(1, .withdrawn)])
    }
}
