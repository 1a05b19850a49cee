import MachineCore
import RoomCore
import Testing

/// Entries go to all members, and a slow member does not slow the room.
@Suite struct HubFanOutTests {
    private var stage = HubStage()

    @Test mutating func `a message to many members is sent with one shared member array`() {
        var policy = HubPolicy()
        policy.user.connections = 3000
        stage = HubStage(policy)
        let ann = stage.member("ann")
        for device in 1000..<3000 as Range<UInt64> { _ = stage.member("bob", device: device) }
        stage.publish(ann, 1...3)
        #expect(stage.handedOver.count == 3 && stage.handedOver[0].count == 2001)
        let places = stage.handedOver.map { $0.withUnsafeBufferPointer { $0.baseAddress } }
        #expect(Set(places).count == 1)
    }

    @Test mutating func `a congested member gets no fan-out frames, and all others do`() {
        let (ann, bob, eve) = (stage.member("ann"), stage.member("bob", presence: true), stage.member("eve", presence: true))
        stage.give(.congested(bob))
        stage.publish(ann, 1...2)
        stage.handle(ann, .typing(.lobby, true), .signal(.lobby, .init(type: "cursor", payload: .json([49]))), .read(.lobby, upTo: 1))
        stage.handle(eve, .presence(.lobby, .init(status: "away")))
        stage.pass(.seconds(2))
        #expect(stage.takeFrames(bob).isEmpty)
        #expect(stage.takeFrames(eve).entries == [1, 2])
    }

    @Test mutating func `a member that is no longer congested gets a lag frame and resumes without a gap`() throws {
        let (ann, bob) = (stage.member("ann"), stage.member("bob"))
        stage.give(.congested(bob))
        stage.publish(ann, 1...2)
        stage.give(.drained(bob))
        #expect(stage.takeFrames(bob) == [.lag(.lobby, head: 2)] && stage.hub.figures.lagged == 1)
        stage.publish(ann, 3...3)
        #expect(stage.takeFrames(bob).isEmpty)
        stage.handle(bob, .join(.init(room: .lobby, cursor: LogPosition(epoch: stage.log.rooms[.lobby]!.epoch, seq: 0))))
        stage.publish(ann, 4...4)
        let received = stage.takeFrames(bob)
        #expect(received.states.flatMap(\.items).map(\.seq) + received.entries == [1, 2, 3, 4])
    }

    @Test mutating func `a member that is no longer congested gets the member list with its next state, not before`() {
        let (ann, bob) = (stage.member("ann", presence: true), stage.member("bob", presence: true))
        stage.give(.congested(bob))
        stage.handle(ann, .presence(.lobby, .init(status: "away")))
        stage.pass(.seconds(2))
        stage.give(.drained(bob))
        #expect(stage.takeFrames(bob) == [.lag(.lobby, head: 0)])
        stage.handle(bob, .join(.init(room: .lobby, wantsPresence: true)))
        let segments = stage.takeFrames(bob).segments
        #expect(segments.count == 1 && segments[0].isFull && segments[0].members.contains { $0.presence.status == "away" })
    }

    @Test mutating func `a congested member still gets acks`() {
        let ann = stage.member("ann")
        stage.give(.congested(ann))
        stage.publish(ann, 1...1)
        let received = stage.takeFrames(ann)
        #expect(received.acks.count == 1 && received.entries.isEmpty)
    }

    @Test mutating func `joins of a congested member wait, and its history requests are refused`() {
        let (ann, bob) = (stage.member("ann"), stage.member("bob"))
        stage.give(.congested(bob))
        stage.publish(ann, 1...1)
        stage.handle(bob, .join(.init(room: .lobby)), .history(.init(reference: 1, room: .lobby, before: 9, limit: 9)), .ping(1))
        let received = stage.takeFrames(bob)
        #expect(received.codes == [.rate] && received.count == 1)
        stage.give(.drained(bob))
        #expect(stage.takeFrames(bob).states.count == 1)
    }

    @Test mutating func `a member that became congested before its state was sent gets a lag frame`() {
        let ann = stage.member("ann")
        let bob = stage.client("bob")
        stage.publish(ann, 1...200)
        stage.holdsLog = true
        stage.handle(bob, .join(.init(room: .lobby)))
        stage.answer(1)
        stage.give(.congested(bob))
        stage.answer()
        #expect(stage.takeFrames(bob).states.count == 1)
        stage.publish(ann, 201...201)
        stage.answer()
        #expect(stage.takeFrames(bob).isEmpty)
        stage.give(.drained(bob))
        #expect(stage.takeFrames(bob) == [.lag(.lobby, head: 201)])
    }

    @Test mutating func `a member that stays congested is closed`() {
        let (ann, bob) = (stage.member("ann"), stage.member("bob"))
        for id in [ann, bob] { stage.give(.congested(id)) }
        stage.pass(.seconds(59))
        stage.give(.drained(ann))
        stage.pass(.seconds(1))
        #expect(stage.closed == [bob: 4002])
    }

    // MARK: Read markers

    @Test mutating func `a read marker is stored and sent to the members, and never moves back`() {
        let (ann, bob) = (stage.member("ann"), stage.member("bob"))
        stage.publish(bob, 1...5)
        for id in [ann, bob] { _ = stage.takeFrames(id) }
        stage.handle(ann, .read(.lobby, upTo: 4), .read(.lobby, upTo: 3), .read(.lobby, upTo: 4))
        #expect(stage.takeFrames(bob) == [.read(.lobby, UserName("ann")!, upTo: 4)])
        #expect(stage.log.rooms[.lobby]?.reads == [UserName("ann")!: 4])
        stage.handle(bob, .join(.init(room: .lobby)))
        #expect(stage.takeFrames(bob).states.first?.reads == [.init(user: UserName("ann")!, seq: 4)])
    }

    @Test mutating func `a read marker cannot pass the last entry`() {
        let ann = stage.member("ann")
        stage.publish(ann, 1...2)
        stage.handle(ann, .read(.lobby, upTo: .max), .read(.lobby, upTo: .min))
        #expect(stage.log.rooms[.lobby]?.reads == [UserName("ann")!: 2])
    }

    @Test mutating func `in a large room a member gets only its own read marker`() {
        var policy = HubPolicy()
        policy.limits.members = 2
        stage = HubStage(policy)
        let all = ["ann", "bob", "eve"].map { stage.member($0) }
        stage.publish(all[0], 1...3)
        for id in all { _ = stage.takeFrames(id) }
        for (id, seq) in zip(all, [1, 2, 3] as [Int64]) { stage.handle(id, .read(.lobby, upTo: seq)) }
        #expect(stage.takeFrames(all[1]).isEmpty && stage.log.rooms[.lobby]?.reads.count == 3)
        stage.handle(all[1], .join(.init(room: .lobby)))
        #expect(stage.takeFrames(all[1]).states.first?.reads == [.init(user: UserName("bob")!, seq: 2)])
    }
}
