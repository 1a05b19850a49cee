import MachineCore
import Testing

@testable import RoomCore

/// The full member list for clients that join or ask: a short frame has a long answer.
@Suite struct HubSegmentsTests {
    private var stage = HubStage()
    private static let other = RoomName("other")!

    /// Members of the lobby that have the member list.
    ///
    /// The frames that they got are dropped.
    private mutating func lobby(_ users: String...) -> [ConnectionID] {
        let all = users.map { stage.member($0, presence: true) }
        stage.pass(.seconds(60))
        for id in all { _ = stage.takeFrames(id) }
        return all
    }

    /// The number of full segments that each connection got since the last call.
    private mutating func segments(_ ids: [ConnectionID]) -> [Int] { ids.map { stage.takeFrames($0).segments.count(where: \.isFull) } }

    @Test mutating func `all requests for the member list are answered together, once a second`() {
        let all = lobby("ann", "ann", "bob", "eve")
        let before = stage.handedOver.count
        for _ in 0..<100 { for id in all { stage.handle(id, .members(.lobby)) } }
        #expect(segments(all) == [1, 0, 0, 0])
        stage.pass(.seconds(1))
        #expect(segments(all) == [1, 1, 1, 1] && stage.handedOver.count == before + 1, "as one frame")
        stage.pass(.seconds(60))
        #expect(segments(all) == [0, 0, 0, 0])
    }

    @Test mutating func `a client that joins repeatedly does not get the list each time`() {
        let all = lobby("ann", "bob")
        for _ in 0..<100 { stage.handle(all[0], .join(.init(room: .lobby, wantsPresence: true))) }
        stage.pass(.seconds(1))
        let received = stage.takeFrames(all[0])
        #expect(received.states.count == 100 && received.segments.count == 2)
        #expect(received.segments[0].isFull && received.segments[0].total == 2)
    }

    @Test mutating func `the list is sorted after a change, not for each request`() {
        let all = lobby("ann", "bob")
        stage.handle(all[0], .members(.lobby))
        let before = stage.hub.rooms[.lobby]?.attendance.sortings
        for _ in 0..<10 {
            stage.handle(all[0], .members(.lobby))
            stage.pass(.seconds(2))
        }
        #expect(stage.takeFrames(all[0]).segments.count == 11 && stage.hub.rooms[.lobby]?.attendance.sortings == before)
        stage.handle(all[1], .presence(.lobby, .init(status: "away")))
        stage.pass(.seconds(2))
        _ = stage.takeFrames(all[0])
        stage.handle(all[0], .members(.lobby))
        let told = stage.takeFrames(all[0]).segments
        #expect(told.count == 1 && told[0].members.map(\.presence.status).sorted() == ["away", "online"])
    }

    @Test mutating func `the member lists sent to a user, a room and the hub have byte budgets, and the rest is sent later`() {
        // A frame of the lobby has about 430 bytes, and one of the other room about 350.
        let rate = HubPolicy.Rate(perSecond: 100, burst: 700)
        let changes: [(inout HubPolicy) -> Void] = [{ $0.userDeliveries = rate }, { $0.roomDeliveries = rate }, { $0.deliveries = rate }]
        let told = changes.map { change in
            var policy = HubPolicy()
            change(&policy)
            stage = HubStage(policy)
            let others = ["col", "dan", "eve"].map { stage.member($0, of: Self.other, presence: true) }
            let all = lobby("ann", "ann", "ann", "bob")
            stage.handle(others[0], .members(Self.other))
            for id in all { stage.handle(id, .members(.lobby)) }
            let first = segments(all)
            stage.pass(.seconds(1))
            let second = segments(all)
            stage.pass(.seconds(60))
            let third = segments(all)
            let sums: [Int] = (0..<4).map { first[$0] + second[$0] + third[$0] }
            #expect(sums == [1, 1, 1, 1], "nobody is left out")
            return [first.reduce(0, +), second.reduce(0, +)]
        }
        #expect(told == [[1, 1], [1, 0], [0, 1]])
    }

    @Test mutating func `a user who has used up the budget does not delay others`() {
        var policy = HubPolicy()
        policy.userDeliveries = .init(perSecond: 1, burst: 300)
        stage = HubStage(policy)
        let ann = stage.member("ann", presence: true)
        for _ in 0..<5 {
            stage.handle(ann, .members(.lobby))
            stage.pass(.seconds(3))
        }
        let bob = stage.client("bob")
        stage.handle(bob, .join(.init(room: .lobby, wantsPresence: true)))
        stage.pass(.seconds(1))
        #expect(stage.takeFrames(ann).segments.count < 4 && stage.takeFrames(bob).segments.first?.total == 2)
    }

    @Test mutating func `a client that left, lost the right or is congested does not get the list`() {
        let all = lobby("ann", "ann", "bob", "eve")
        for id in all { stage.handle(id, .members(.lobby)) }
        _ = segments(all)
        stage.handle(all[1], .leave(.lobby))
        stage.handle(all[2], .join(.init(room: .lobby)))
        stage.give(.congested(all[3]))
        stage.pass(.seconds(2))
        #expect(segments(Array(all[1...])) == [0, 0, 0])
        stage.pass(.seconds(60))
        stage.handle(all[2], .members(.lobby), .join(.init(room: .lobby, wantsPresence: true)))
        #expect(stage.takeFrames(all[2]).segments.count > 0)
    }

    @Test mutating func `a new member gets changes only after the full list`() throws {
        _ = lobby("ann")
        let (bob, eve) = (stage.client("bob"), stage.client("eve"))
        for id in [bob, eve] { stage.handle(id, .join(.init(room: .lobby, wantsPresence: true))) }
        stage.handle(bob, .presence(.lobby, .init(status: "away")))
        stage.pass(.seconds(5))
        let first = try #require(stage.takeFrames(eve).segments.first)
        #expect(first.isFull && first.total == 3)
    }
}
