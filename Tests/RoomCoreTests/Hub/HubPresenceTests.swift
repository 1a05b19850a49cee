import MachineCore
import RoomCore
import Testing

/// "Ephemeral traffic".
@Suite struct HubPresenceTests {
    private var stage = HubStage()

    @Test mutating func `a client that joins gets the member list, and the others are told that it came`() {
        let ann = stage.member("ann", presence: true)
        stage.pass(.seconds(2))
        let bob = stage.client("bob")
        _ = stage.takeFrames(ann)
        stage.handle(bob, .join(.init(room: .lobby, wantsPresence: true)))
        let seen = stage.takeFrames(bob).segments
        #expect(seen.count == 2 && seen[0].isFull && Set(seen[0].members.map(\.user.text)) == ["ann", "bob"] && seen[0].total == 2)
        let told = stage.takeFrames(ann).segments
        #expect(told.map(\.isFull) == [false] && told[0].members.map(\.user.text) == ["bob"] && told[0].total == 2)
    }

    @Test mutating func `presence versions are consecutive`() {
        let ann = stage.member("ann", presence: true)
        var versions: [Int64] = []
        for device in 50..<54 as Range<UInt64> {
            stage.pass(.seconds(1))
            _ = stage.member("bob", device: device, presence: true)
            versions += stage.takeFrames(ann).segments.map(\.version)
        }
        #expect(versions == [2, 3, 4, 5])
    }

    @Test mutating func `presence changes are collected for a second`() {
        let ann = stage.member("ann", presence: true)
        let all = (50..<60 as Range<UInt64>).map { stage.member("bob", device: $0, presence: true) }
        stage.handle(all[0], .presence(.lobby, .init(status: "away")))
        stage.handle(all[1], .leave(.lobby))
        #expect(stage.takeFrames(ann).segments.isEmpty)
        stage.pass(.seconds(1))
        let told = stage.takeFrames(ann).segments
        #expect(told.count == 1 && told[0].members.count == 9 && told[0].total == 10)
        #expect(told[0].members.filter { $0.presence.status == "away" }.count == 1)
    }

    @Test mutating func `a client that leaves is no longer a member`() throws {
        let (ann, bob) = (stage.member("ann", presence: true), stage.member("bob", presence: true))
        stage.pass(.seconds(3))
        _ = stage.takeFrames(ann)
        stage.handle(bob, .leave(.lobby))
        let told = try #require(stage.takeFrames(ann).segments.first)
        #expect(told.gone.count == 1 && told.total == 1 && told.members.isEmpty)
    }

    @Test mutating func `a resume within ten seconds is not reported as a change`() throws {
        let ann = stage.member("ann", presence: true)
        let bob = stage.member("bob", device: 50, presence: true)
        stage.handle(bob, .presence(.lobby, .init(status: "busy")))
        stage.pass(.seconds(3))
        _ = stage.takeFrames(ann)
        stage.give(.gone(bob))
        stage.pass(.seconds(9))
        let again = stage.member("bob", device: 50, presence: true)
        stage.pass(.seconds(60))
        #expect(stage.takeFrames(ann).isEmpty)
        // It gets the same connection name and the same presence.
        stage.handle(again, .signal(.lobby, .init(type: "s", payload: .json([49]))), .members(.lobby))
        let received = stage.takeFrames(again)
        guard case .signal(_, _, let connection, _)? = received.first(where: { $0.isEphemeral && [$0].segments.isEmpty }) else {
            return #expect(Bool(false), "no signal")
        }
        let member = try #require(received.segments.first?.members.first { $0.connection == connection })
        #expect(member.user.text == "bob" && member.presence.status == "busy")
    }

    @Test mutating func `a client that does not resume within ten seconds is no longer a member`() {
        let (ann, bob) = (stage.member("ann", presence: true), stage.member("bob", presence: true))
        stage.pass(.seconds(3))
        stage.give(.gone(bob))
        _ = stage.takeFrames(ann)
        stage.pass(.seconds(10))
        #expect(stage.takeFrames(ann).segments.map(\.gone.count) == [1])
    }

    @Test mutating func `a client that resumes one room only is no longer a member of the other`() {
        let other = RoomName("other")!
        let ann = stage.member("ann", presence: true)
        let bob = stage.member("bob", device: 50, presence: true)
        for id in [ann, bob] { stage.handle(id, .join(.init(room: other, wantsPresence: true))) }
        stage.pass(.seconds(3))
        stage.give(.gone(bob))
        _ = stage.member("bob", device: 50, presence: true)
        _ = stage.takeFrames(ann)
        stage.pass(.seconds(12))
        let told = stage.takeFrames(ann).segments
        #expect(told.map(\.room) == [other] && told.map(\.gone.count) == [1])
    }

    @Test mutating func `above the limit only the count is sent, and below it the full list again`() throws {
        var policy = HubPolicy()
        policy.limits.members = 3
        stage = HubStage(policy)
        let ann = stage.member("ann", presence: true)
        let all = (50..<54 as Range<UInt64>).map { stage.member("bob", device: $0, presence: true) }
        stage.pass(.seconds(2))
        let many = try #require(stage.takeFrames(ann).segments.last)
        #expect(many.isFull && many.total == 5 && many.members.isEmpty)
        for id in all.prefix(2) { stage.handle(id, .leave(.lobby)) }
        stage.pass(.seconds(2))
        let few = try #require(stage.takeFrames(ann).segments.last)
        #expect(few.isFull && few.total == 3 && few.members.count == 3)
        stage.handle(all[3], .presence(.lobby, .init(status: "away")))
        stage.pass(.seconds(2))
        #expect(stage.takeFrames(ann).segments.last?.isFull == false)
    }

    @Test mutating func `a client without the presence right is not shown, and sees no members`() {
        let ann = stage.member("ann", presence: true)
        stage.grants = [Grant("*", [.read, .write])]
        let bob = stage.member("bob", presence: true)
        stage.pass(.seconds(3))
        #expect(stage.takeFrames(ann).segments.isEmpty && stage.takeFrames(bob).segments.isEmpty)
        stage.handle(bob, .presence(.lobby, .init()), .members(.lobby))
        #expect(stage.takeFrames(bob).codes == [.rights, .rights])
    }

    @Test mutating func `a client's status and metadata have limits`() {
        let ann = stage.member("ann", presence: true)
        stage.handle(ann, .presence(.lobby, .init(status: String(repeating: "x", count: 65))))
        stage.handle(ann, .presence(.lobby, .init(status: "away", meta: Array(repeating: 49, count: 1025))))
        stage.handle(ann, .presence(.lobby, .init(status: String(repeating: "x", count: 64), meta: Array(repeating: 49, count: 1024))))
        #expect(stage.takeFrames(ann).codes == [.size, .size])
    }

    // MARK: Other nodes

    private func segment(_ version: Int64, full: Bool = true, node: String = "n2", life: UInt64 = 1, _ users: String...) -> HubInput {
        let members = users.map { PresentMember(connection: "c-\($0)", user: UserName($0)!, presence: .init()) }
        return .heard(
            .segment(
                .init(
                    room: .lobby, node: node, incarnation: life, version: version, isFull: full, total: Int64(users.count),
                    members: members, gone: [])))
    }

    @Test mutating func `presence of another node is passed on, also to clients that join later`() {
        let ann = stage.member("ann", presence: true)
        stage.give(segment(4, "eve"), segment(4, "eve"), segment(5, full: false, "tom"), segment(9, full: false, "lost"))
        let told = stage.takeFrames(ann).segments.filter { $0.node == "n2" }
        #expect(told.map(\.version) == [4, 5])
        let bob = stage.client("bob")
        stage.handle(bob, .join(.init(room: .lobby, wantsPresence: true)))
        stage.pass(.seconds(1))
        #expect(stage.takeFrames(bob).segments.first { $0.node == "n2" }?.members.map(\.user.text) == ["eve", "tom"])
    }

    @Test mutating func `a new node gets the member list, and nodes send it to each other every two seconds`() {
        _ = stage.member("ann", presence: true)
        stage.pass(.seconds(5))
        #expect(stage.takeBusMessages().count == 1)
        stage.give(segment(1, "eve"))
        #expect(stage.takeBusMessages().count == 1)
        stage.pass(.seconds(6))
        #expect(stage.takeBusMessages().count == 3)
    }

    @Test mutating func `the members of a node that is silent for eight seconds are removed`() {
        let ann = stage.member("ann", presence: true)
        stage.give(segment(1, "eve"))
        stage.pass(.seconds(6))
        stage.give(segment(1, "eve"))
        _ = stage.takeFrames(ann)
        stage.pass(.seconds(7))
        #expect(stage.takeFrames(ann).segments.isEmpty)
        stage.pass(.seconds(3))
        let told = stage.takeFrames(ann).segments
        #expect(told.count == 1 && told[0].isFull && told[0].total == 0 && told[0].members.isEmpty && told[0].node == "n2")
        _ = stage.takeBusMessages()
        stage.pass(.seconds(20))
        #expect(stage.takeBusMessages().isEmpty)
    }

    @Test mutating func `a restarted node's presence replaces the earlier one`() {
        let ann = stage.member("ann", presence: true)
        stage.give(segment(9, "eve"), segment(1, life: 2, "tom"))
        #expect(stage.takeFrames(ann).segments.filter { $0.node == "n2" }.map(\.incarnation) == [1, 2])
        stage.give(segment(5, node: "n1", life: 1, "ghost"))
        #expect(stage.takeFrames(ann).isEmpty)
    }

    // MARK: Typing and signals

    @Test mutating func `typing is sent to others, and is rate limited`() {
        let (ann, bob) = (stage.member("ann"), stage.member("bob"))
        for _ in 0..<20 { stage.handle(ann, .typing(.lobby, true)) }
        #expect(stage.takeFrames(bob) == Array(repeating: .typing(.lobby, UserName("ann")!, true), count: 3))
        stage.pass(.seconds(3))
        stage.handle(ann, .typing(.lobby, false))
        #expect(stage.takeFrames(bob) == [.typing(.lobby, UserName("ann")!, false)])
    }

    @Test mutating func `signals are sent with their connection, up to a size and a rate`() {
        let (ann, bob) = (stage.member("ann"), stage.member("bob"))
        let long = Signal(type: "cursor", payload: .binary(Array(repeating: 1, count: 4096)))
        stage.handle(ann, .signal(.lobby, long))
        guard case .signal(.lobby, let user, let connection, long)? = stage.takeFrames(bob).first else {
            return #expect(Bool(false), "none")
        }
        #expect(user.text == "ann" && connection.count == 16)
        stage.handle(ann, .signal(.lobby, .init(type: "cursor", payload: .binary(Array(repeating: 1, count: 4097)))))
        stage.handle(ann, .signal(.lobby, .init(type: "", payload: .json([49]))))
        #expect(stage.takeFrames(ann).codes == [.size, .size])
        for _ in 0..<100 { stage.handle(ann, .signal(.lobby, .init(type: "cursor", payload: .json([49])))) }
        #expect(stage.takeFrames(bob).count == 59)
    }

    @Test mutating func `a client without the write right can send neither typing nor signals`() {
        stage.grants = [Grant("*", [.read])]
        let ann = stage.member("ann")
        stage.handle(ann, .typing(.lobby, true), .signal(.lobby, .init(type: "s", payload: .json([49]))))
        #expect(stage.takeFrames(ann).codes == [.rights, .rights] && stage.takeBusMessages().isEmpty)
    }

    @Test mutating func `a large room has a rate limit for signals`() {
        var policy = HubPolicy()
        policy.ephemerals = .init(perSecond: 10, burst: 20)
        stage = HubStage(policy)
        let all = (0..<10).map { stage.member("u\($0)") }
        for id in all { stage.handle(id, .typing(.lobby, true)) }
        #expect(stage.takeFrames(all[0]).count == 2)
        stage.pass(.seconds(1))
        stage.handle(all[0], .typing(.lobby, true))
        #expect(stage.takeFrames(all[1]).count == 3)
    }
}
