import MachineCore
import RoomCore
import Testing

/// How many bytes of presence, signals and read markers a client may make the hub send.
@Suite struct HubBudgetTests {
    private var stage = HubStage()
    private static let long = Signal(type: "cursor", payload: .json(Array(repeating: UInt8(ascii: "1"), count: 4000)))
    private static let short = Signal(type: "cursor", payload: .json([UInt8(ascii: "1")]))

    private static func policy(_ change: (inout HubPolicy) -> Void) -> HubPolicy {
        var policy = HubPolicy()
        change(&policy)
        return policy
    }

    /// The number of signals that a connection received.
    private mutating func signals(_ id: ConnectionID) -> Int {
        stage.takeFrames(id).count { if case .signal = $0 { true } else { false } }
    }

    @Test mutating func `the hub limits how much one user's small frames make it send to others`() {
        let ann = (0..<20).map { _ in stage.member("ann") }
        let others = (0..<200).map { stage.member("u\($0)") }
        for _ in 0..<10 {
            for id in ann { for _ in 0..<30 { stage.handle(id, .signal(.lobby, Self.long)) } }
            stage.pass(.seconds(1))
        }
        let told = signals(others[0])
        // 24 MB in ten seconds would be sent as 5 GB. One user may cause 4 MiB a second and a burst.
        #expect(told > 30 && told < 300 && stage.hub.figures.unsaid > 4000)
        #expect(Int64(told) * 4000 * 220 < HubPolicy().userDeliveries.burst + 10 * HubPolicy().userDeliveries.perSecond)
        // Other users are not delayed.
        stage.handle(others[0], .signal(.lobby, Self.short))
        #expect(signals(others[1]) == told + 1)
    }

    @Test mutating func `each connection, user and address has a byte budget for sending`() {
        let rate = HubPolicy.Rate(perSecond: 4200, burst: 4200)
        let changes: [(inout HubPolicy) -> Void] = [
            { $0.connection.ephemeral = rate }, { $0.user.ephemeral = rate }, { $0.address.ephemeral = rate },
        ]
        let heard = changes.map { change in
            stage = HubStage(Self.policy(change))
            let all = [stage.member("ann"), stage.member("ann"), stage.member("bob"), stage.member("eve")]
            for id in all.dropLast() { for _ in 0..<3 { stage.handle(id, .signal(.lobby, Self.long)) } }
            let first = signals(all[3])
            stage.pass(.seconds(1))
            stage.handle(all[0], .signal(.lobby, Self.long))
            #expect(signals(all[3]) == 1, "the budget refills")
            return first
        }
        #expect(heard == [3, 2, 1])
    }

    @Test mutating func `each user, room and hub has a byte budget for what the hub sends on`() {
        let rate = HubPolicy.Rate(perSecond: 20_000, burst: 20_000)
        let changes: [(inout HubPolicy) -> Void] = [{ $0.userDeliveries = rate }, { $0.roomDeliveries = rate }, { $0.deliveries = rate }]
        let heard = changes.map { change in
            stage = HubStage(Self.policy(change))
            var all: [ConnectionID] = []
            for room in [RoomName.lobby, RoomName("other")!] { for user in ["ann", "bob"] { all.append(stage.member(user, of: room)) } }
            for (place, id) in all.enumerated() {
                for _ in 0..<3 { stage.handle(id, .signal(place < 2 ? .lobby : RoomName("other")!, Self.long)) }
            }
            return [signals(all[0]), signals(all[2])]
        }
        // Each signal is sent to two members: two signals are within the budget.
        #expect(heard == [[4, 0], [2, 2], [2, 0]])
    }

    @Test mutating func `read markers and presence changes are charged like signals`() {
        stage = HubStage(Self.policy { $0.userDeliveries = .init(perSecond: 1000, burst: 1000) })
        let (ann, bob) = (stage.member("ann", presence: true), stage.member("bob", presence: true))
        stage.publish(bob, 1...30)
        stage.pass(.seconds(2))
        _ = (stage.takeFrames(ann), stage.takeFrames(bob))
        for seq in 1...30 as ClosedRange<Int64> { stage.handle(ann, .read(.lobby, upTo: seq)) }
        #expect(stage.takeFrames(bob).count == 6 && stage.log.rooms[.lobby]?.reads[UserName("ann")!] == 30, "it is stored all the same")
        stage.pass(.seconds(2))
        let meta = Array(repeating: UInt8(ascii: "1"), count: 900)
        for number in 0..<9 {
            stage.handle(ann, .presence(.lobby, .init(status: "s\(number)", meta: meta)))
            stage.pass(.seconds(1))
        }
        #expect((2...5).contains(stage.takeFrames(bob).segments.count))
    }

    @Test mutating func `when the hub sends much, presence is delayed, but only by seconds`() {
        stage = HubStage(Self.policy { $0.roomDeliveries = .init(perSecond: 1, burst: 1) })
        let bob = stage.member("bob", presence: true)
        stage.pass(.seconds(10))
        _ = stage.takeFrames(bob)
        for number in 0..<8 {
            _ = stage.member("u\(number)", presence: true)
            stage.pass(.seconds(1))
        }
        stage.pass(.seconds(4))
        let told = stage.takeFrames(bob).segments
        #expect((2...4).contains(told.count) && told.last?.total == 9)
    }

    @Test mutating func `a presence change waits four seconds at most, however much was sent`() {
        stage = HubStage(Self.policy { $0.deliveries = .init(perSecond: 100, burst: 1000) })
        let (ann, bob) = (stage.member("ann", presence: true), stage.member("bob", presence: true))
        stage.pass(.seconds(60))
        _ = stage.takeFrames(bob)
        // After this the budget is two bursts short. Refilling it would take more than ten seconds.
        stage.handle(ann, .presence(.lobby, .init(status: "s", meta: Array(repeating: UInt8(ascii: "1"), count: 1000))))
        #expect(stage.takeFrames(bob).segments.count == 1)
        stage.handle(ann, .presence(.lobby, .init(status: "t")))
        stage.pass(.seconds(3))
        #expect(stage.takeFrames(bob).segments.isEmpty)
        stage.pass(.seconds(1))
        #expect(stage.takeFrames(bob).segments.last?.members.map(\.presence.status) == ["t"])
    }

    @Test mutating func `much presence in one room does not delay other rooms for long`() {
        let other = RoomName("other")!
        stage = HubStage(Self.policy { $0.deliveries = .init(perSecond: 10_000, burst: 20_000) })
        let (bob, eve) = (stage.member("bob", of: other), stage.member("eve", of: other))
        for number in 0..<40 {
            let id = stage.member("u\(number)", presence: true)
            stage.handle(id, .presence(.lobby, .init(status: "s", meta: Array(repeating: UInt8(ascii: "1"), count: 1000))))
        }
        // More than a megabyte is sent, whatever the budget is.
        stage.pass(.seconds(2))
        _ = stage.takeFrames(eve)
        stage.handle(bob, .signal(other, Self.short))
        #expect(signals(eve) == 0)
        // Members that wait for the member list use up the refilled budget and exceed it once. Then it is the others' turn.
        var heard = 0
        for _ in 0..<12 {
            stage.pass(.seconds(1))
            stage.handle(bob, .signal(other, Self.short))
            heard += signals(eve)
        }
        #expect(heard >= 3, "the budget is at most two bursts short: \(heard)")
    }
}
