import MachineCore
import RoomCore
import Testing

/// How many bytes one may make the hub tell of what nobody stores.
@Suite struct HubBudgetTests {
    private var stage = HubStage()
    private static let long = Signal(type: "cursor", payload: .json(Array(repeating: UInt8(ascii: "1"), count: 4000)))
    private static let short = Signal(type: "cursor", payload: .json([UInt8(ascii: "1")]))

    private static func policy(_ change: (inout HubPolicy) -> Void) -> HubPolicy {
        var policy = HubPolicy()
        change(&policy)
        return policy
    }

    /// How many signals a connection hears.
    private mutating func signals(_ id: ConnectionID) -> Int {
        stage.heard(id).count { if case .signal = $0 { true } else { false } }
    }

    @Test mutating func `one user does not make a little said into very much told`() {
        let ann = (0..<20).map { _ in stage.member("ann") }
        let others = (0..<200).map { stage.member("u\($0)") }
        for _ in 0..<10 {
            for id in ann { for _ in 0..<30 { stage.handle(id, .signal(.lobby, Self.long)) } }
            stage.pass(.seconds(1))
        }
        let told = signals(others[0])
        // 24 MB were said in ten seconds, which would be 5 GB; what one user may have told is 4 MiB a second, and some at once.
        #expect(told > 30 && told < 300 && stage.hub.figures.unsaid > 4000)
        #expect(Int64(told) * 4000 * 220 < HubPolicy().userDeliveries.burst + 10 * HubPolicy().userDeliveries.perSecond)
        // Nobody else is held up by that.
        stage.handle(others[0], .signal(.lobby, Self.short))
        #expect(signals(others[1]) == told + 1)
    }

    @Test mutating func `a connection, a user and an address each have so many bytes to say`() {
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
            #expect(signals(all[3]) == 1, "the budget flows back")
            return first
        }
        #expect(heard == [3, 2, 1])
    }

    @Test mutating func `a user, a room and the hub each tell so many bytes`() {
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
        // Each signal is told to two: two of them are within the budget.
        #expect(heard == [[4, 0], [2, 2], [2, 0]])
    }

    @Test mutating func `read markers and changes of presence cost what signals cost`() {
        stage = HubStage(Self.policy { $0.userDeliveries = .init(perSecond: 1000, burst: 1000) })
        let (ann, bob) = (stage.member("ann", presence: true), stage.member("bob", presence: true))
        stage.publish(bob, 1...30)
        stage.pass(.seconds(2))
        _ = (stage.heard(ann), stage.heard(bob))
        for seq in 1...30 as ClosedRange<Int64> { stage.handle(ann, .read(.lobby, upTo: seq)) }
        #expect(stage.heard(bob).count == 6 && stage.log.rooms[.lobby]?.reads[UserName("ann")!] == 30, "it is stored all the same")
        stage.pass(.seconds(2))
        let meta = Array(repeating: UInt8(ascii: "1"), count: 900)
        for number in 0..<9 {
            stage.handle(ann, .presence(.lobby, .init(status: "s\(number)", meta: meta)))
            stage.pass(.seconds(1))
        }
        #expect((2...5).contains(stage.heard(bob).segments.count))
    }

    @Test mutating func `where much is told, presence is told later, but within seconds`() {
        stage = HubStage(Self.policy { $0.roomDeliveries = .init(perSecond: 1, burst: 1) })
        let bob = stage.member("bob", presence: true)
        stage.pass(.seconds(10))
        _ = stage.heard(bob)
        for number in 0..<8 {
            _ = stage.member("u\(number)", presence: true)
            stage.pass(.seconds(1))
        }
        stage.pass(.seconds(4))
        let told = stage.heard(bob).segments
        #expect((2...4).contains(told.count) && told.last?.total == 9)
    }

    @Test mutating func `a change of presence waits four seconds at most, however much was told`() {
        stage = HubStage(Self.policy { $0.deliveries = .init(perSecond: 100, burst: 1000) })
        let (ann, bob) = (stage.member("ann", presence: true), stage.member("bob", presence: true))
        stage.pass(.seconds(60))
        _ = stage.heard(bob)
        // Twice the burst is missing after this: it would take more than ten seconds to come back.
        stage.handle(ann, .presence(.lobby, .init(status: "s", meta: Array(repeating: UInt8(ascii: "1"), count: 1000))))
        #expect(stage.heard(bob).segments.count == 1)
        stage.handle(ann, .presence(.lobby, .init(status: "t")))
        stage.pass(.seconds(3))
        #expect(stage.heard(bob).segments.isEmpty)
        stage.pass(.seconds(1))
        #expect(stage.heard(bob).segments.last?.members.map(\.presence.status) == ["t"])
    }

    @Test mutating func `much presence in one room does not silence others for long`() {
        let other = RoomName("other")!
        stage = HubStage(Self.policy { $0.deliveries = .init(perSecond: 10_000, burst: 20_000) })
        let (bob, eve) = (stage.member("bob", of: other), stage.member("eve", of: other))
        for number in 0..<40 {
            let id = stage.member("u\(number)", presence: true)
            stage.handle(id, .presence(.lobby, .init(status: "s", meta: Array(repeating: UInt8(ascii: "1"), count: 1000))))
        }
        // A megabyte and more is told, whatever the budget.
        stage.pass(.seconds(2))
        _ = stage.heard(eve)
        stage.handle(bob, .signal(other, Self.short))
        #expect(signals(eve) == 0)
        // Those who wait to be told who is present take what has come back, and more than that once; then others have their turn.
        var heard = 0
        for _ in 0..<12 {
            stage.pass(.seconds(1))
            stage.handle(bob, .signal(other, Self.short))
            heard += signals(eve)
        }
        #expect(heard >= 3, "two bursts are the most that is missing: \(heard)")
    }
}
