import MachineCore
import RoomCore
import Testing

/// Storage quotas.
@Suite struct HubQuotaTests {
    private var stage = HubStage()

    private static func policy(_ change: (inout HubPolicy) -> Void) -> HubPolicy {
        var policy = HubPolicy()
        change(&policy)
        return policy
    }

    private mutating func publish(_ id: ConnectionID, _ cseq: Int64, bytes: Int = 680, in room: RoomName = .lobby) -> [HubFrame] {
        stage.handle(id, .publish(room, .numbered(cseq, type: "t", bytes: bytes)))
        return stage.takeFrames(id)
    }

    /// The retry time in milliseconds, if the answer has one.
    private func wait(_ received: [HubFrame]) -> Int64? {
        guard received.codes == [.quota], received.acks.isEmpty, case .after(let wait)? = received.refusals.first?.retry else { return nil }
        return wait
    }

    @Test mutating func `a user has a daily quota over all connections, which refills with time`() {
        stage = HubStage(Self.policy { $0.userDay = 10_010 })
        let (one, two, bob) = (stage.member("ann"), stage.member("ann"), stage.member("bob"))
        for cseq in 1...5 as ClosedRange<Int64> { #expect(publish(one, cseq).acks.count == 1 && publish(two, cseq).acks.count == 1) }
        let (received, later) = (publish(one, 6), publish(two, 6))
        #expect(received.refusals.first?.cseq == 6 && received.refusals.first?.room == .lobby)
        // The wait is a tenth of a day, minus the unused rest.
        guard let wait = wait(received) else {
            Issue.record("it has a retry time")
            return
        }
        #expect(self.wait(later) != nil && (8_600_000...8_640_100).contains(wait))
        #expect(publish(bob, 1).acks.count == 1, "another user")
        stage.pass(.milliseconds(wait))
        #expect(publish(one, 6).acks.count == 1 && self.wait(publish(two, 6)) != nil)
        // A stored publication is acked again.
        #expect(publish(one, 6).acks.first?.isDuplicate == true)
    }

    @Test mutating func `a reconnect does not refill the quota, and no state remains of users who are long gone`() {
        stage = HubStage(Self.policy { $0.userDay = 1000 })
        let ann = stage.member("ann", device: 1)
        #expect(publish(ann, 1).acks.count == 1)
        stage.give(.gone(ann))
        stage.pass(.seconds(3600))
        let again = stage.member("ann", device: 2)
        #expect(wait(publish(again, 1)) != nil)
        stage.give(.gone(again))
        stage.pass(.seconds(86_400))
        #expect(stage.hub.isEmpty && stage.hub.deadline == nil)
    }

    @Test mutating func `a void counts against the quota, because each leaves a row for its device on disk`() {
        // The first one creates the rows of a room and a device, with their names.
        stage = HubStage(Self.policy { $0.userDay = 3208 })
        let ann = stage.member("ann")
        for cseq in 1...11 as ClosedRange<Int64> { stage.handle(ann, .publish(.lobby, .void(cseq))) }
        let received = stage.takeFrames(ann)
        #expect(received.acks.count == 10 && received.codes == [.quota])
    }

    @Test mutating func `the first void of a device needs space, because it creates a row on disk`() {
        let (ann, bob) = (stage.member("ann"), stage.member("bob"))
        stage.handle(bob, .publish(.lobby, .void(1)))
        _ = stage.takeFrames(bob)
        stage.give(.space(327))
        stage.handle(ann, .publish(.lobby, .void(1)))
        #expect(wait(stage.takeFrames(ann)) == 10_000)
        stage.handle(bob, .publish(.lobby, .void(2)))
        #expect(stage.takeFrames(bob).acks.count == 1, "an existing row takes no more space")
        stage.give(.space(328))
        stage.handle(ann, .publish(.lobby, .void(1)), .publish(.lobby, .void(2)))
        #expect(stage.takeFrames(ann).acks.count == 2)
        let eve = stage.member("eve")
        stage.handle(eve, .publish(.lobby, .void(1)))
        #expect(wait(stage.takeFrames(eve)) == 10_000, "that space is used up")
    }

    @Test mutating func `a room has a size limit, and removed entries free space`() {
        stage = HubStage(Self.policy { $0.roomBytes = 2500 })
        let ann = stage.member("ann")
        #expect(publish(ann, 1).acks.count == 1 && publish(ann, 2).acks.count == 1)
        #expect(wait(publish(ann, 3)) == 60_000)
        stage.handle(ann, .publish(.lobby, .void(3)))
        #expect(stage.takeFrames(ann).acks.count == 1, "a voided number takes no space")
        stage.handle(ann, .join(.init(room: RoomName("other")!)))
        _ = stage.takeFrames(ann)
        #expect(publish(ann, 1, in: RoomName("other")!).acks.count == 1)
        stage.give(.log(.weighed(.lobby, bytes: 1000)))
        #expect(publish(ann, 4).acks.count == 1 && wait(publish(ann, 5)) == 60_000)
    }

    @Test mutating func `a room's size is known again when it is opened`() {
        stage = HubStage(Self.policy { $0.roomBytes = 2500 })
        stage.holdsLog = true
        let ann = stage.client("ann")
        stage.handle(ann, .join(.init(room: .lobby)))
        stage.orders.removeAll()
        stage.give(.log(.opened(.lobby, LogHead(epoch: 1, head: 0, base: 1, reads: [], bytes: 2000))))
        stage.answer()
        _ = stage.takeFrames(ann)
        #expect(wait(publish(ann, 1)) == 60_000)
    }

    @Test mutating func `a hub has a limit of disk space for all publishers`() {
        let ann = stage.member("ann")
        stage.give(.space(1500))
        #expect(publish(ann, 1).acks.count == 1 && wait(publish(ann, 2)) == 10_000)
        stage.give(.publish(ServerRequest(1), .lobby, .numbered(50), UserName("bot")!, .numbered(1, bytes: 680)))
        guard case .refused(let refusal)? = stage.answers[ServerRequest(1)] else {
            Issue.record("there is no space")
            return
        }
        #expect(refusal.code == .quota && refusal.retry == .after(10_000))
        stage.give(.space(-5))
        #expect(wait(publish(ann, 2)) == 10_000)
        stage.give(.space(.max))
        #expect(publish(ann, 2).acks.count == 1)
    }

    @Test mutating func `a quota may be any number`() {
        stage = HubStage(Self.policy { ($0.userDay, $0.roomBytes) = (.max, .max) })
        let ann = stage.member("ann")
        for cseq in 1...20 as ClosedRange<Int64> { #expect(publish(ann, cseq).acks.count == 1) }
    }

    @Test mutating func `a void is accepted where nothing else is stored`() {
        let ann = stage.member("ann")
        #expect(publish(ann, 1).acks.count == 1)
        stage.give(.space(0))
        #expect(wait(publish(ann, 2)) == 10_000)
        stage.handle(ann, .publish(.lobby, .void(2)))
        #expect(stage.takeFrames(ann).acks.count == 1)
    }

    @Test mutating func `a failed write is not charged`() {
        stage = HubStage(Self.policy { $0.userDay = 3 * 1001 })
        let (ann, bob) = (stage.member("ann"), stage.member("bob"))
        #expect(publish(bob, 1).acks.count == 1 && publish(ann, 1).acks.count == 1)
        for _ in 1...5 {
            stage.log.outcomes = [.refused]
            // One publication is being written, and one waits behind it.
            stage.holdsLog = true
            #expect(publish(ann, 2).isEmpty && publish(ann, 3).isEmpty)
            stage.answer()
            stage.holdsLog = false
            #expect(stage.takeFrames(ann).codes == [.storage])
            stage.pass(.seconds(20))
            _ = stage.takeFrames(ann)
        }
        #expect(publish(ann, 2).acks.count == 1 && publish(ann, 3).acks.count == 1)
        #expect(wait(publish(ann, 4)) != nil, "stored publications are charged")
        // It is charged to the author, and to no other user.
        #expect(publish(bob, 2).acks.count == 1 && publish(bob, 3).acks.count == 1 && wait(publish(bob, 4)) != nil)
    }

    @Test mutating func `a server publication that failed is credited to no user`() {
        stage = HubStage(Self.policy { $0.userDay = 1001 })
        let bot = stage.member("bot")
        #expect(publish(bot, 1).acks.count == 1)
        stage.log.outcomes = [.refused]
        stage.give(.publish(ServerRequest(1), .lobby, .numbered(50), UserName("bot")!, .numbered(1, bytes: 680)))
        stage.pass(.seconds(2))
        _ = stage.takeFrames(bot)
        #expect(wait(publish(bot, 2)) != nil)
    }
}
