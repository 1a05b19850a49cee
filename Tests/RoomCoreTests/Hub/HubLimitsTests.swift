import MachineCore
import RoomCore
import Testing

/// The limits of clients, and how a hub stops.
@Suite struct HubLimitsTests {
    private var stage = HubStage()

    @Test mutating func `an address and a user have a limit of connections`() {
        var policy = HubPolicy()
        (policy.address.connections, policy.user.connections) = (3, 2)
        stage = HubStage(policy)
        let all = (0..<4).map { _ in stage.open() }
        #expect(stage.closed == [all[3]: 4003] && stage.takeFrames(all[3]).codes == [.count])
        for (place, id) in all.prefix(3).enumerated() {
            stage.handle(id, .hello(.init(versions: [1], device: .numbered(UInt64(place)), token: "ann")))
        }
        #expect(stage.closed[all[2]] == 4003 && stage.closed[all[1]] == nil)
        stage.give(.gone(all[0]))
        _ = stage.client("ann", device: 9)
        #expect(stage.hub.figures.connections == 2)
    }

    @Test mutating func `a new connection of the same device is not counted twice`() {
        var policy = HubPolicy()
        policy.user.connections = 1
        stage = HubStage(policy)
        for _ in 0..<5 { _ = stage.client("ann", device: 1) }
        #expect(Array(stage.closed.values) == [4000, 4000, 4000, 4000])
    }

    @Test mutating func `a connection has a limit of rooms`() {
        var policy = HubPolicy()
        policy.limits.rooms = 2
        stage = HubStage(policy)
        let id = stage.client("ann")
        for name in ["a", "b", "c", "a"] { stage.handle(id, .join(.init(room: RoomName(name)!))) }
        let received = stage.takeFrames(id)
        #expect(received.states.map(\.room.text) == ["a", "b", "a"])
        #expect(received.codes == [.count] && received.refusals[0].room?.text == "c")
        stage.handle(id, .leave(RoomName("a")!), .join(.init(room: RoomName("c")!)))
        #expect(stage.takeFrames(id).states.count == 1)
    }

    @Test mutating func `a hub has a limit of open rooms`() {
        var policy = HubPolicy()
        policy.openRooms = 2
        stage = HubStage(policy)
        let id = stage.client("ann")
        for name in ["a", "b", "c"] { stage.handle(id, .join(.init(room: RoomName(name)!))) }
        #expect(stage.takeFrames(id).codes == [.count] && stage.hub.figures.rooms == 2)
    }

    @Test mutating func `joins have a rate limit, and a client over it stays in its rooms`() {
        var policy = HubPolicy()
        policy.connection.joins = .init(perSecond: 1, burst: 2)
        stage = HubStage(policy)
        let id = stage.client("ann")
        for _ in 0..<3 { stage.handle(id, .join(.init(room: .lobby))) }
        let received = stage.takeFrames(id)
        #expect(received.states.count == 2 && received.codes == [.rate])
        #expect(received.refusals[0].room == .lobby && received.refusals[0].cseq == nil)
        stage.publish(id, 1...1)
        #expect(stage.takeFrames(id).entries == [1])
    }

    @Test mutating func `history pages count against the join rate`() {
        var policy = HubPolicy()
        policy.connection.joins = .init(perSecond: 1, burst: 3)
        stage = HubStage(policy)
        let id = stage.member("ann")
        for number in 1...3 as ClosedRange<Int64> {
            stage.handle(id, .history(.init(reference: number, room: .lobby, before: 9, limit: 1)))
        }
        let received = stage.takeFrames(id)
        #expect(received.count == 3 && received.codes == [.rate] && received.refusals[0].reference == 3)
        guard case .after(let wait)? = received.refusals.first?.retry else {
            Issue.record("it has a retry time")
            return
        }
        stage.pass(.milliseconds(wait))
        stage.handle(id, .history(.init(reference: 4, room: .lobby, before: 9, limit: 1)))
        #expect(stage.takeFrames(id).codes.isEmpty)
    }

    @Test mutating func `too many requests for members are refused and use up the join rate, and publishing still works`() {
        var policy = HubPolicy()
        policy.user.joins = .init(perSecond: 1, burst: 3)
        stage = HubStage(policy)
        let id = stage.member("ann", presence: true)
        for _ in 0..<9 { stage.handle(id, .members(.lobby)) }
        stage.handle(id, .join(.init(room: RoomName("other")!)))
        #expect(stage.takeFrames(id).codes == [.rate])
        stage.publish(id, 1...1)
        #expect(stage.takeFrames(id).acks.count == 1)
    }

    @Test mutating func `typing, statuses and token requests in many rooms at once have a rate limit`() {
        var policy = HubPolicy()
        (policy.signals, policy.connection.joins) = (.init(perSecond: 1, burst: 5), .init(perSecond: 1, burst: 40))
        stage = HubStage(policy)
        let (id, rooms) = (stage.client("ann"), (0..<20).map { RoomName("room \($0)")! })
        for room in rooms { stage.handle(id, .join(.init(room: room, wantsPresence: true))) }
        stage.pass(.seconds(2))
        _ = (stage.takeFrames(id), stage.takeBusMessages())
        for room in rooms { stage.handle(id, .typing(room, true)) }
        #expect(stage.takeBusMessages().count == 5)
        for room in rooms + rooms { stage.handle(id, .presence(room, .init(status: "away"))) }
        stage.handle(id, .auth(token: "ann"))
        #expect(stage.takeBusMessages().count == 20 && stage.takeFrames(id).codes == [.rate])
        stage.publish(id, 1...1, in: rooms[0])
        #expect(stage.takeFrames(id).acks.count == 1)
    }

    @Test mutating func `all rooms together have a memory limit for entries, and clients still resume`() {
        var policy = HubPolicy()
        policy.allTailBytes = 2000
        stage = HubStage(policy)
        let (id, rooms) = (stage.client("ann"), (0..<3).map { RoomName("room \($0)")! })
        for room in rooms {
            stage.handle(id, .join(.init(room: room)))
            stage.publish(id, 1...2, in: room)
        }
        stage.holdsLog = true
        for room in rooms {
            let epoch = stage.log.rooms[room]?.epoch ?? 0
            stage.handle(id, .join(.init(room: room, cursor: LogPosition(epoch: epoch, seq: 1))))
        }
        // The last entries of two rooms are in memory. Those of the third are not.
        #expect(stage.orders.count == 1 && stage.takeFrames(id).states.count == 2 + 3)
        stage.answer()
        #expect(stage.takeFrames(id).states.first?.items.map(\.seq) == [2])
        // A closed room frees its memory.
        stage.holdsLog = false
        stage.handle(id, .leave(rooms[0]))
        stage.pass(.seconds(61))
        stage.publish(id, 3...4, in: rooms[2])
        stage.holdsLog = true
        stage.handle(id, .join(.init(room: rooms[2], cursor: LogPosition(epoch: stage.log.rooms[rooms[2]]?.epoch ?? 0, seq: 3))))
        #expect(stage.orders.isEmpty)
    }

    @Test mutating func `too many frames close the connection`() {
        let (id, other) = (stage.client("ann"), stage.member("bob"))
        for number in 0..<8001 { stage.handle(id, .ping(Int64(number))) }
        #expect(stage.closed == [id: 4003])
        stage.publish(other, 1...1)
        #expect(stage.takeFrames(other).acks.count == 1)
    }

    @Test mutating func `entries that wait for the log have a limit`() {
        var policy = HubPolicy()
        policy.pendingRecords = 3
        stage = HubStage(policy)
        let all = (0..<5).map { stage.member("u\($0)") }
        stage.holdsLog = true
        for id in all { stage.publish(id, 1...1) }
        #expect(all.map { stage.takeFrames($0).codes } == [[], [], [], [.rate], [.rate]])
        stage.answer()
        stage.publish(all[3], 1...1)
        stage.answer()
        #expect(stage.takeFrames(all[3]).acks.count == 1)
    }

    @Test mutating func `no state remains of clients that are gone`() {
        for number in 0..<50 as Range<UInt64> {
            let id = stage.member("u\(number)", device: number, presence: true)
            stage.publish(id, 1...2)
            if number % 2 == 0 { stage.give(.gone(id)) } else { stage.give(.malformed(id, "?")) }
        }
        stage.pass(.seconds(120))
        #expect(stage.hub.isEmpty && stage.hub.deadline == nil)
    }

    @Test mutating func `inputs about closed connections change nothing`() {
        let id = stage.member("ann")
        stage.give(.gone(id))
        let figures = stage.hub.figures
        stage.give(.gone(id), .received(id, .ping(1), bytes: 10), .congested(id), .drained(id), .malformed(id, "?"))
        stage.give(.identified(id, Identity(user: UserName("ann")!, grants: [], expires: nil)), .unidentified(id, Refusal(.token, "?")))
        #expect(stage.takeFrames(id).isEmpty && stage.closed.isEmpty && stage.hub.figures == figures)
    }

    // MARK: Stopping

    @Test mutating func `a stopping hub gives each client another retry time, acks what it accepted, and closes`() {
        let all = (0..<20).map { stage.member("u\($0)") }
        let stranger = stage.open()
        stage.holdsLog = true
        stage.publish(all[0], 1...2)
        stage.give(.stop)
        #expect(stage.closed == [stranger: 4004])
        let times = all.compactMap { id in
            stage.takeFrames(id).compactMap { if case .goaway(let goaway) = $0 { goaway.after } else { nil } }.first
        }
        #expect(times.count == 20 && Set(times).count > 10 && times.allSatisfy { (500...5000).contains($0) })
        stage.publish(all[0], 3...3)
        stage.handle(all[1], .join(.init(room: RoomName("other")!)))
        stage.give(.publish(ServerRequest(1), .lobby, .numbered(5), UserName("bot")!, .numbered(1)))
        #expect(stage.takeFrames(all[0]).codes == [.stopping] && stage.takeFrames(all[1]).codes == [.stopping])
        #expect(stage.answers.count == 1 && stage.hub.figures.connections == 20)
        stage.answer()
        #expect(stage.takeFrames(all[0]).acks.map(\.cseq) == [1, 2])
        #expect(stage.closed.count == 21 && Set(stage.closed.values) == [4004])
        #expect(stage.hub.figures.connections == 0 && stage.hub.deadline == nil)
    }

    @Test mutating func `a stopping hub does not wait for ever for its log`() {
        let ann = stage.member("ann")
        stage.holdsLog = true
        stage.publish(ann, 1...1)
        stage.give(.stop)
        #expect(stage.closed.isEmpty)
        stage.pass(.seconds(5))
        #expect(stage.closed == [ann: 4004] && stage.hub.figures.connections == 0)
    }

    @Test mutating func `a stopping hub refuses new clients`() {
        stage.give(.stop)
        let id = stage.open()
        #expect(stage.takeFrames(id).codes == [.stopping] && stage.closed[id] == 4004)
    }
}
