import MachineCore
import RoomCore
import Testing

/// How many rooms each user, address and hub may hold open, and which rooms are closed first.
@Suite struct HubCrowdingTests {
    private var stage = HubStage()

    private static func policy(_ change: (inout HubPolicy) -> Void) -> HubPolicy {
        var policy = HubPolicy()
        change(&policy)
        return policy
    }

    private mutating func join(_ id: ConnectionID, _ names: String..., presence: Bool = false) -> [HubFrame] {
        for name in names { stage.handle(id, .join(.init(room: RoomName(name)!, wantsPresence: presence))) }
        return stage.takeFrames(id)
    }

    /// Whether all frames are refusals with a retry time.
    private func areLater(_ received: [HubFrame]) -> Bool {
        !received.isEmpty
            && received.refusals.count == received.count
            && received.refusals.allSatisfy {
                guard case .after(let wait) = $0.retry else { return false }
                return $0.code == .count && (5000...15_000).contains(wait)
            }
    }

    @Test mutating func `a user has a limit of rooms over all connections, with each room counted once`() {
        stage = HubStage(Self.policy { $0.user.rooms = 2 })
        let (one, two, bob) = (stage.client("ann"), stage.client("ann"), stage.client("bob"))
        #expect(join(one, "a", "b").states.count == 2)
        #expect(join(two, "a", "b").states.count == 2, "the same rooms again")
        #expect(areLater(join(one, "c")) && areLater(join(two, "d")))
        #expect(join(bob, "c").states.count == 1, "another user")
        stage.handle(one, .leave(RoomName("a")!))
        #expect(areLater(join(one, "c")), "the other connection is there still")
        stage.handle(two, .leave(RoomName("a")!))
        #expect(join(one, "c").states.count == 1)
    }

    @Test mutating func `the users of one address share a limit of rooms`() {
        stage = HubStage(Self.policy { $0.address.rooms = 2 })
        let (ann, bob, far) = (stage.client("ann"), stage.client("bob"), stage.client("far", address: "10.0.0.2"))
        #expect(join(ann, "a", "b").states.count == 2 && join(bob, "b").states.count == 1)
        #expect(areLater(join(bob, "c")) && join(far, "c").states.count == 1)
        stage.give(.gone(ann))
        #expect(join(bob, "d").states.count == 1)
    }

    @Test mutating func `a connection over its own room limit is refused for good`() {
        stage = HubStage(Self.policy { $0.limits.rooms = 1 })
        let refusal = join(stage.client("ann"), "a", "b").refusals.first
        #expect(refusal?.code == .count && refusal?.retry == .never && refusal?.room?.text == "b")
    }

    @Test mutating func `a full hub refuses with a retry time that differs from client to client`() {
        stage = HubStage(Self.policy { $0.openRooms = 2 })
        let (ann, bob) = (stage.client("ann"), stage.client("bob"))
        #expect(join(ann, "a", "b").states.count == 2)
        let refused = (0..<20).flatMap { _ in join(bob, "c") }
        #expect(areLater(refused) && Set(refused.refusals.map(\.retry)).count > 10)
        #expect(stage.hub.figures.rooms == 2)
        #expect(join(bob, "a").states.count == 1, "an open room takes no further place")
    }

    @Test mutating func `empty rooms that users have left are closed at once for new ones`() {
        stage = HubStage(Self.policy { $0.openRooms = 3 })
        let (eve, bob) = (stage.client("eve"), stage.client("bob"))
        #expect(join(eve, "a", "b", "c").states.count == 3)
        #expect(areLater(join(bob, "d")))
        for name in ["a", "b"] { stage.handle(eve, .leave(RoomName(name)!)) }
        #expect(join(bob, "d", "e").states.count == 2)
        #expect(stage.hub.figures.rooms == 3 && stage.hub.figures.crowdedOut == 2)
        // A room that was closed early is opened again as it was.
        stage.handle(bob, .leave(RoomName("e")!))
        stage.publish(bob, 1...1, in: RoomName("d")!)
        #expect(stage.takeFrames(bob).acks.count == 1 && join(eve, "a").states.count == 1)
    }

    @Test mutating func `empty rooms of disconnected users are closed too, although their presence is still shown`() {
        stage = HubStage(Self.policy { $0.openRooms = 2 })
        let (eve, bob) = (stage.client("eve"), stage.client("bob"))
        #expect(join(eve, "a", "b", presence: true).states.count == 2)
        stage.give(.gone(eve))
        _ = stage.takeBusMessages()
        #expect(join(bob, "c", "d", presence: true).states.count == 2 && stage.hub.figures.crowdedOut == 2)
        // Other nodes are told that eve is gone.
        let gone = stage.takeBusMessages().filter { if case .segment(let segment) = $0 { segment.total == 0 } else { false } }
        #expect(gone.count == 2)
        stage.give(.gone(bob))
        stage.pass(.seconds(120))
        #expect(stage.hub.isEmpty && stage.hub.deadline == nil)
    }

    @Test mutating func `a room with pending work is not closed for others`() {
        stage = HubStage(Self.policy { $0.openRooms = 1 })
        let (ann, bob) = (stage.member("ann"), stage.client("bob"))
        stage.holdsLog = true
        stage.publish(ann, 1...1)
        stage.give(.gone(ann))
        #expect(areLater(join(bob, "b")))
        stage.answer()
        stage.handle(bob, .join(.init(room: RoomName("b")!)))
        stage.answer()
        #expect(stage.takeFrames(bob).states.count == 1 && stage.log.rooms[.lobby]?.head == 1)
    }

    @Test mutating func `a server publication gets a room when a client has left one`() {
        stage = HubStage(Self.policy { $0.openRooms = 1 })
        let ann = stage.member("ann")
        func publish(_ number: UInt64) -> ServerAnswer? {
            stage.give(.publish(ServerRequest(number), RoomName("b")!, .numbered(50), UserName("bot")!, .numbered(1)))
            return stage.answers[ServerRequest(number)]
        }
        guard case .refused(let refusal)? = publish(1) else {
            Issue.record("there was no room for it")
            return
        }
        #expect(refusal.code == .count && refusal.retry == .after(1000))
        stage.give(.gone(ann))
        guard case .stored? = publish(2) else {
            Issue.record("there is room for it")
            return
        }
    }

    @Test mutating func `a room that is being opened again is not closed for others`() {
        stage = HubStage(Self.policy { $0.openRooms = 1 })
        let (ann, bob) = (stage.member("ann"), stage.client("bob"))
        stage.log.outcomes = [.refused]
        stage.publish(ann, 1...1)
        stage.give(.gone(ann))
        stage.holdsLog = true
        stage.pass(.seconds(2))
        #expect(areLater(join(bob, "b")) && stage.hub.figures.rooms == 1)
        stage.answer()
        stage.handle(bob, .join(.init(room: RoomName("b")!)))
        stage.answer()
        #expect(stage.takeFrames(bob).states.count == 1)
    }

    @Test mutating func `presence of a room that was closed and joined again has newer versions than before`() throws {
        stage = HubStage(Self.policy { $0.openRooms = 1 })
        let (ann, bob) = (stage.member("ann", presence: true), stage.member("bob", presence: true))
        stage.pass(.seconds(5))
        stage.handle(ann, .presence(.lobby, .init(status: "away")))
        stage.pass(.seconds(5))
        for id in [ann, bob] { stage.give(.gone(id)) }
        let before = stage.takeBusMessages().compactMap { if case .segment(let segment) = $0 { segment } else { nil } }
        // The room is closed for another, which is closed as well.
        let eve = stage.client("eve")
        #expect(join(eve, "b").states.count == 1)
        stage.handle(eve, .leave(RoomName("b")!))
        let last = stage.takeBusMessages().compactMap {
            if case .segment(let segment) = $0, segment.room == .lobby { segment } else { nil }
        }
        #expect(last.last?.total == 0)
        let again = stage.member("ann", device: 70, presence: true)
        let first = try #require(stage.takeBusMessages().compactMap { if case .segment(let segment) = $0 { segment } else { nil } }.last)
        let version = try #require(last.last).version
        #expect(before.allSatisfy { $0.version < version } && first.room == .lobby && first.isFull && first.version > version)
        // A node that still receives the old messages is not misled by them.
        for old in last { stage.give(.heard(.segment(old))) }
        _ = stage.takeFrames(again)
        _ = stage.member("bob", device: 71, presence: true)
        stage.pass(.seconds(5))
        let told = try #require(stage.takeFrames(again).segments.last)
        #expect(told.version == first.version + 1 && told.total == 2 && !told.isFull && told.members.map(\.user.text) == ["bob"])
    }
}
