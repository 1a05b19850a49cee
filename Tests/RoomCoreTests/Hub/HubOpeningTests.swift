import MachineCore
import RoomCore
import Testing

/// "Opening": which clients are let in, and for how long.
@Suite struct HubOpeningTests {
    private var stage = HubStage()

    private func hello(_ user: String? = "ann", device: UInt64 = 1, versions: [Int64] = [1], joins: [ClientFrame.Join] = []) -> ClientFrame
    {
        .hello(.init(versions: versions, device: .numbered(device), token: user, joins: joins))
    }

    @Test mutating func `hello is answered with the user and the limits`() throws {
        stage.expires = HubStage.newYear + 60_000
        let id = stage.open()
        stage.handle(id, hello())
        guard case .welcome(let welcome)? = stage.takeFrames(id).first else { throw Missing() }
        #expect(welcome.version == 1 && welcome.user.text == "ann" && welcome.now == HubStage.newYear)
        #expect(welcome.expires == HubStage.newYear + 60_000 && welcome.window == 7_776_000_000 && welcome.limits == RoomsLimits())
        #expect(!welcome.connection.isEmpty)
    }

    @Test mutating func `a connection without a hello is closed after ten seconds`() {
        let id = stage.open()
        stage.pass(.seconds(9))
        #expect(stage.closed[id] == nil)
        stage.pass(.seconds(1))
        #expect(stage.takeFrames(id).refusals.map(\.retry) == [.reconnect] && stage.closed[id] == 4002)
    }

    @Test mutating func `a welcomed client may be silent`() {
        let id = stage.client("ann")
        stage.pass(.seconds(3600))
        #expect(stage.closed[id] == nil)
    }

    @Test mutating func `the first frame must be hello, and later ones must not`() {
        let (early, twice) = (stage.open(), stage.client("bob"))
        stage.handle(early, .ping(1))
        stage.handle(twice, hello("bob", device: 2))
        #expect(stage.closed[early] == 4100 && stage.takeFrames(early).codes == [.order])
        #expect(stage.closed[twice] == 4100)
    }

    @Test mutating func `without a common version the hub replies with its own`() throws {
        let id = stage.open()
        stage.handle(id, hello(versions: [2, 3]))
        let refusal = try #require(stage.takeFrames(id).refusals.first)
        #expect(refusal.code == .version && refusal.versions == [1] && stage.closed[id] == 4106)
    }

    @Test mutating func `without a valid token there is no welcome`() {
        let (none, ended) = (stage.open(), stage.open())
        stage.handle(none, hello(nil))
        #expect(stage.takeFrames(none).codes == [.token] && stage.closed[none] == 4101)
        stage.expires = HubStage.newYear
        stage.handle(ended, hello(device: 2))
        #expect(stage.takeFrames(ended).codes == [.expired] && stage.closed[ended] == 4001)
    }

    @Test mutating func `an invalid frame closes the connection`() {
        let id = stage.client("ann")
        stage.give(.malformed(id, "a field is missing"))
        #expect(stage.takeFrames(id).codes == [.malformed] && stage.closed[id] == 4100)
    }

    @Test mutating func `a frame that is too long closes the connection`() {
        let id = stage.client("ann")
        stage.handle(id, .ping(1), bytes: 1_048_577)
        #expect(stage.closed[id] == 4100)
    }

    // MARK: Before authentication ends

    @Test mutating func `frames that come before the welcome are kept and handled in order after it`() {
        stage.holdsTokens = true
        let id = stage.open()
        stage.handle(id, hello(joins: [.init(room: .lobby)]), .ping(1), .ping(2))
        #expect(stage.takeFrames(id).isEmpty)
        stage.identify(id, "ann")
        let received = stage.takeFrames(id)
        let pongs = [1, 2].map { HubFrame.pong($0, now: HubStage.newYear) }
        #expect(received.count == 4 && received.states.count == 1 && received.filter { pongs.contains($0) } == pongs)
    }

    @Test mutating func `frames kept before the welcome have a limit`() {
        var policy = HubPolicy()
        (policy.heldFrames, policy.heldBytes) = (3, 1000)
        stage = HubStage(policy)
        stage.holdsTokens = true
        let (many, long) = (stage.open(), stage.open())
        stage.handle(many, hello(), .ping(1), .ping(2), .ping(3))
        #expect(stage.closed[many] == nil)
        stage.handle(many, .ping(4))
        #expect(stage.closed[many] == 4003)
        stage.handle(long, hello(device: 2))
        stage.handle(long, .ping(1), bytes: 1001)
        #expect(stage.closed[long] == 4003)
    }

    @Test mutating func `joins in hello are handled like others`() {
        let id = stage.open()
        stage.handle(id, hello(joins: [.init(room: .lobby), .init(room: RoomName("other")!)]))
        #expect(stage.takeFrames(id).states.map(\.room.text) == ["lobby", "other"])
    }

    // MARK: Devices

    @Test mutating func `a newer connection of a device closes the older one`() {
        let older = stage.member("ann", device: 1)
        let newer = stage.member("ann", device: 1)
        #expect(stage.closed[older] == 4000 && stage.closed[newer] == nil)
        stage.publish(newer, 1...1)
        #expect(stage.takeFrames(newer).acks.map(\.cseq) == [1] && stage.takeFrames(older).isEmpty)
    }

    @Test mutating func `a client that names another user's device is let in and closes no connection`() {
        let ann = stage.member("ann", device: 1, presence: true)
        let bob = stage.client("bob", device: 1)
        stage.handle(bob, .join(.init(room: .lobby, wantsPresence: true)), .publish(.lobby, .numbered(1)))
        let received = stage.takeFrames(bob)
        #expect(received.codes == [.device, .notJoined] && received.refusals[0].room == .lobby && received.refusals[0].retry == .never)
        stage.give(.gone(bob))
        stage.pass(.seconds(60))
        stage.publish(ann, 1...1)
        stage.handle(ann, .members(.lobby))
        let heard = stage.takeFrames(ann)
        #expect(heard.acks.map(\.cseq) == [1] && heard.segments.last?.members.map(\.user.text) == ["ann"] && stage.closed.isEmpty)
    }

    @Test(arguments: [true, false])
    mutating func `a device that has published belongs to its user in all rooms`(userIsBack: Bool) {
        let (lobby, other) = (RoomName.lobby, RoomName("other")!)
        var ann = stage.member("ann", device: 1)
        stage.publish(ann, 1...1)
        stage.give(.gone(ann))
        stage.pass(.seconds(100))
        if userIsBack { ann = stage.client("ann", device: 1) }
        let bob = stage.client("bob", device: 1)
        for room in [lobby, other] {
            stage.handle(bob, .join(.init(room: room)), .publish(room, .numbered(2)), .publish(room, .numbered(1)))
            let received = stage.takeFrames(bob)
            #expect(received.codes == [.device, .notJoined, .notJoined] && received.refusals[0].retry == .never)
        }
        if !userIsBack { ann = stage.client("ann", device: 1) }
        stage.handle(ann, .join(.init(room: lobby)), .join(.init(room: other)))
        #expect(stage.takeFrames(ann).states.map(\.high) == [1, 0])
        stage.handle(ann, .publish(lobby, .numbered(2)), .publish(other, .numbered(1)))
        #expect(stage.takeFrames(ann).acks.map(\.cseq) == [2, 1] && stage.closed.isEmpty)
    }

    @Test mutating func `while the log is asked for a device's owner, a second user is refused with a retry time`() {
        let other = RoomName("other")!
        let first = stage.member("ann", device: 1)
        stage.publish(first, 1...1)
        stage.give(.gone(first))
        let (bob, ann) = (stage.client("bob", device: 1), stage.client("ann", device: 1))
        stage.holdsLog = true
        stage.handle(bob, .join(.init(room: other)))
        stage.handle(ann, .join(.init(room: other)))
        #expect(stage.takeFrames(ann).refusals.map(\.retry) == [.after(1000)])
        stage.answer()
        #expect(stage.takeFrames(bob).codes == [.device])
        // A refused user leaves no entry in the queue, so it does not block others.
        stage.handle(bob, .join(.init(room: other)))
        #expect(stage.takeFrames(bob).refusals.map(\.retry) == [.never])
        stage.holdsLog = false
        stage.handle(ann, .join(.init(room: other)))
        #expect(stage.takeFrames(ann).states.count == 1 && stage.closed.isEmpty)
    }

    @Test mutating func `while the log is asked for another device's owner, a server publication is refused with a retry time`() {
        let bot = UserName("bot")!
        stage.give(.publish(ServerRequest(1), .lobby, .numbered(1), bot, .numbered(1)))
        let eve = stage.client("eve", device: 1)
        stage.holdsLog = true
        stage.handle(eve, .join(.init(room: .lobby)))
        stage.give(.publish(ServerRequest(2), .lobby, .numbered(1), bot, .numbered(2)))
        guard case .refused(let refusal)? = stage.answers[ServerRequest(2)] else { return #expect(Bool(false), "no answer") }
        #expect(refusal.code == .device && refusal.retry == .after(1000))
        stage.answer()
        #expect(stage.takeFrames(eve).refusals.map(\.retry) == [.never])
        stage.give(.publish(ServerRequest(3), .lobby, .numbered(1), bot, .numbered(2)))
        stage.answer()
        #expect(stage.log.rooms[.lobby]?.head == 2)
    }

    @Test mutating func `repeated hellos with another user's device block neither its owner nor the log`() {
        var ann = stage.member("ann", device: 1)
        stage.publish(ann, 1...1)
        stage.give(.gone(ann))
        var eve = stage.client("eve", device: 1)
        stage.handle(eve, .join(.init(room: .lobby)))
        stage.give(.gone(eve))
        stage.holdsLog = true
        for room in [RoomName.lobby, RoomName("other")!] {
            eve = stage.client("eve", device: 1)
            stage.handle(eve, .join(.init(room: room)))
            #expect(stage.takeFrames(eve).refusals.map(\.retry) == [.never] && stage.orders.isEmpty)
        }
        ann = stage.client("ann", device: 1)
        stage.handle(ann, .join(.init(room: .lobby)))
        stage.answer()
        #expect(stage.takeFrames(ann).states.map(\.high) == [1])
    }

    @Test mutating func `the owners of a limited number of devices are remembered for a limited time`() {
        var policy = HubPolicy()
        policy.owners = 1
        stage = HubStage(policy)
        func come(_ device: UInt64, to stage: inout HubStage) -> Bool {
            let eve = stage.client("eve", device: device)
            stage.handle(eve, .join(.init(room: .lobby)))
            defer { stage.give(.gone(eve)) }
            return stage.orders.isEmpty
        }
        for device in 1...3 as ClosedRange<UInt64> {
            let ann = stage.member("ann", device: device)
            stage.publish(ann, 1...1)
            stage.give(.gone(ann))
        }
        for device in 1...3 as ClosedRange<UInt64> { _ = come(device, to: &stage) }
        stage.holdsLog = true
        let areKnown = [3, 2, 1].map { come($0, to: &stage) }
        #expect(areKnown == [true, true, false])
        stage.answer()
        stage.pass(.seconds(59))
        stage.holdsLog = false
        #expect(!stage.hub.isEmpty)
        stage.pass(.seconds(121))
        #expect(stage.hub.isEmpty)
    }

    @Test mutating func `of two users with an unknown device, the first to join a room owns it there`() {
        let (ann, bob) = (stage.member("ann", device: 1), stage.client("bob", device: 1))
        stage.handle(bob, .join(.init(room: .lobby)))
        stage.publish(ann, 1...1)
        stage.give(.gone(ann))
        stage.handle(bob, .join(.init(room: .lobby)), .publish(.lobby, .numbered(1)))
        #expect(stage.takeFrames(bob).codes == [.device, .device, .notJoined] && stage.log.rooms[.lobby]?.head == 1)
    }

    @Test(arguments: [true, false])
    mutating func `of two users who join two rooms with one new device at once, one owns it in both`(annIsFirst: Bool) {
        let (lobby, other) = (RoomName.lobby, RoomName("other")!)
        let (ann, bob) = (stage.client("ann", device: 1), stage.client("bob", device: 1))
        stage.holdsLog = true
        stage.handle(ann, .join(.init(room: lobby)))
        stage.handle(bob, .join(.init(room: other)))
        stage.answer(2)
        // Both rooms ask the log, which does not know the device.
        if !annIsFirst { stage.orders.reverse() }
        stage.answer()
        let (owner, second) = annIsFirst ? (ann, bob) : (bob, ann)
        #expect(stage.takeFrames(owner).states.count == 1)
        #expect(stage.takeFrames(second).refusals.map { [$0.code.rawValue, $0.retry == .never ? 1 : 0] } == [[2003, 1]])
        // While the write is pending, and afterwards, it belongs to the first one.
        let (its, others) = annIsFirst ? (lobby, other) : (other, lobby)
        stage.publish(owner, 1...1, in: its)
        stage.give(.gone(owner))
        for _ in 0..<2 {
            stage.handle(second, .join(.init(room: others)), .publish(others, .numbered(1)))
            stage.answer()
            #expect(stage.takeFrames(second).codes.contains(.device))
        }
        #expect(stage.log.rooms[others]?.head == 0 && stage.log.rooms[its]?.head == 1 && stage.closed.isEmpty)
    }

    @Test mutating func `a new device without publications is free when its user has left`() {
        let (ann, bob) = (stage.member("ann", device: 1), stage.client("bob", device: 1))
        stage.handle(bob, .join(.init(room: .lobby)))
        stage.handle(ann, .leave(.lobby))
        stage.handle(bob, .join(.init(room: .lobby)))
        let received = stage.takeFrames(bob)
        #expect(received.codes == [.device] && received.states.count == 1)
        for id in [ann, bob] { stage.give(.gone(id)) }
        stage.pass(.seconds(100))
        #expect(stage.hub.isEmpty)
    }

    @Test mutating func `the device of server publications has one owner, too`() {
        let ann = stage.member("ann", device: 1)
        let other = RoomName("other")!
        stage.give(.publish(ServerRequest(1), other, .numbered(1), UserName("server")!, .numbered(1)))
        guard case .refused(let refusal)? = stage.answers[ServerRequest(1)] else { return #expect(Bool(false), "no answer") }
        #expect(refusal.code == .device && refusal.retry == .never)
        stage.publish(ann, 1...1)
        #expect(stage.takeFrames(ann).acks.count == 1)
    }

    // MARK: Tokens

    @Test mutating func `an expired token closes the connection`() {
        stage.expires = HubStage.newYear + 30_000
        let id = stage.client("ann")
        stage.pass(.seconds(29))
        #expect(stage.closed[id] == nil)
        stage.pass(.seconds(1))
        #expect(stage.takeFrames(id).codes == [.expired] && stage.closed[id] == 4001)
    }

    @Test mutating func `a fresh token keeps the connection open`() {
        stage.expires = HubStage.newYear + 30_000
        let id = stage.client("ann")
        stage.expires = HubStage.newYear + 90_000
        stage.handle(id, .auth(token: "ann"))
        #expect(stage.takeFrames(id) == [.renewed(expires: HubStage.newYear + 90_000)])
        stage.pass(.seconds(89))
        #expect(stage.closed[id] == nil)
        stage.pass(.seconds(1))
        #expect(stage.closed[id] == 4001)
    }

    @Test mutating func `a fresh token that is rejected changes nothing`() {
        let id = stage.client("ann")
        stage.handle(id, .auth(token: ""))
        #expect(stage.takeFrames(id).codes == [.token] && stage.closed[id] == nil)
        stage.handle(id, .auth(token: "ann"))
        #expect(stage.takeFrames(id) == [.renewed(expires: 0)])
    }

    @Test mutating func `tokens of a connection are verified one after the other`() {
        let id = stage.client("ann")
        stage.holdsTokens = true
        stage.handle(id, .auth(token: "ann"), .auth(token: "ann"))
        #expect(stage.takeFrames(id).codes == [.rate])
    }

    @Test mutating func `a fresh token of another user closes the connection`() {
        let id = stage.client("ann")
        stage.handle(id, .auth(token: "bob"))
        #expect(stage.takeFrames(id).codes == [.token] && stage.closed[id] == 4101)
    }

    @Test mutating func `after a clock change tokens expire at the times of the new clock`() {
        stage.expires = HubStage.newYear + 3_600_000
        let id = stage.client("ann")
        stage.give(.calendar(HubStage.newYear + 3_599_000))
        stage.pass(.seconds(1))
        #expect(stage.closed[id] == 4001)
    }

    @Test mutating func `changed rights of a fresh token take effect with the next state`() {
        let (ann, bob) = (stage.member("ann"), stage.member("bob"))
        stage.grants = [Grant("*", [.write])]
        stage.handle(ann, .auth(token: "ann"))
        #expect(stage.takeFrames(ann) == [.renewed(expires: 0), .lag(.lobby, head: 0)])
        stage.publish(bob, 1...1)
        #expect(stage.takeFrames(ann).entries.isEmpty)
        stage.handle(ann, .join(.init(room: .lobby)))
        #expect(stage.takeFrames(ann).states.map(\.rights) == [[.write]])
        stage.grants = []
        stage.handle(ann, .auth(token: "ann"))
        #expect(stage.takeFrames(ann).codes == [.rights])
        stage.publish(ann, 1...1)
        #expect(stage.takeFrames(ann).codes == [.notJoined])
    }

    @Test(arguments: [(true, 40), (false, 14)])
    mutating func `a fresh token with other grants costs more the more rooms are joined`(isSame: Bool, most: Int) {
        var policy = HubPolicy()
        policy.connection.joins = .init(perSecond: 1, burst: 140)
        stage = HubStage(policy)
        let ann = stage.client("ann")
        for number in 1...100 { stage.handle(ann, .join(.init(room: RoomName("\(number)")!))) }
        _ = stage.takeFrames(ann)
        for number in 1...41 {
            if !isSame { stage.grants = [Grant("*", [.read]), Grant("x\(number)", [.read])] }
            stage.handle(ann, .auth(token: "ann"))
        }
        #expect(stage.takeFrames(ann).filter { $0 == .renewed(expires: 0) }.count == most)
    }

    private struct Missing: Error {}
}
