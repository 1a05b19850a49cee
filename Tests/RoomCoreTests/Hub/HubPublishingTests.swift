import MachineCore
import RoomCore
import Testing

/// "Publishing".
@Suite struct HubPublishingTests {
    private var stage = HubStage()

    @Test mutating func `a publication is acked when it is on disk, and only then delivered`() {
        let (ann, bob) = (stage.member("ann"), stage.member("bob"))
        stage.holdsLog = true
        stage.publish(ann, 1...1)
        #expect(stage.heard(ann).isEmpty && stage.heard(bob).isEmpty)
        stage.answer()
        let (own, others) = (stage.heard(ann), stage.heard(bob))
        #expect(own.acks == [.init(cseq: 1, seq: 1, at: HubStage.newYear, id: .numbered(1))])
        #expect(own.entries == [1] && others.entries == [1] && others.acks.isEmpty)
    }

    @Test mutating func `an entry tells who, when, and what`() throws {
        stage.grants = [Grant("*", .member), Grant("lobby", .admin)]
        let ann = stage.member("ann", device: 4)
        stage.pass(.milliseconds(1500))
        stage.hear(ann, .publish(.lobby, .numbered(1)))
        let entry = try #require(stage.log.rooms[.lobby]?.entries.first)
        #expect(entry.device == .numbered(4) && entry.cseq == 1 && entry.user.text == "ann" && entry.isAdmin)
        #expect(entry.at == HubStage.newYear + 1500 && entry.sent == HubStage.newYear && entry.type == "chat.text")
    }

    // MARK: Order

    @Test mutating func `what is on disk already is acked again with what is there`() {
        let ann = stage.member("ann")
        stage.publish(ann, 1...3)
        _ = stage.heard(ann)
        stage.publish(ann, 2...2)
        #expect(stage.heard(ann).acks == [.init(cseq: 2, seq: 2, at: HubStage.newYear, id: .numbered(2), isDuplicate: true)])
        #expect(stage.log.rooms[.lobby]?.head == 3 && stage.hub.figures.duplicates == 1)
    }

    @Test mutating func `what cannot be looked up is not acked, as if its place were forgotten; it is sent again`() {
        let ann = stage.member("ann", device: 1)
        stage.publish(ann, 1...2)
        _ = stage.heard(ann)
        stage.log.isReadable = false
        stage.publish(ann, 1...1)
        #expect(stage.heard(ann).acks.isEmpty)
        stage.log.isReadable = true
        stage.publish(ann, 1...1)
        #expect(stage.heard(ann).acks.map(\.seq) == [1])
    }

    @Test mutating func `what retention has passed is acked without its place`() {
        let ann = stage.member("ann")
        stage.publish(ann, 1...3)
        _ = stage.log.trim(.lobby, to: 0)
        _ = stage.heard(ann)
        stage.publish(ann, 2...3)
        #expect(
            stage.heard(ann).acks == [
                .init(cseq: 2, seq: 0, at: 0, id: nil, isDuplicate: true),
                .init(cseq: 3, seq: 0, at: 0, id: .numbered(3), isDuplicate: true),
            ])
    }

    @Test mutating func `a hole is told once for a run, and nothing of it is taken`() {
        let ann = stage.member("ann")
        stage.publish(ann, 1...1)
        stage.publish(ann, 3...6)
        #expect(stage.heard(ann).filter { if case .hole = $0 { true } else { false } } == [.hole(.lobby, expected: 2)])
        stage.publish(ann, 2...6)
        #expect(stage.heard(ann).acks.map(\.cseq) == [2, 3, 4, 5, 6])
        stage.publish(ann, 9...9)
        #expect(stage.heard(ann) == [.hole(.lobby, expected: 7)])
    }

    @Test mutating func `a hole is told again to who comes back with it after a while`() {
        let ann = stage.member("ann")
        stage.publish(ann, 3...4)
        #expect(stage.heard(ann) == [.hole(.lobby, expected: 1)])
        stage.publish(ann, 3...4)
        #expect(stage.heard(ann).isEmpty)
        stage.pass(.seconds(10))
        stage.publish(ann, 3...4)
        #expect(stage.heard(ann) == [.hole(.lobby, expected: 1)])
    }

    @Test mutating func `what is on its way to disk is not taken twice`() {
        let ann = stage.member("ann")
        stage.holdsLog = true
        stage.publish(ann, 1...2)
        stage.publish(ann, 1...2)
        stage.answer()
        #expect(stage.heard(ann).acks.map(\.cseq) == [1, 2] && stage.log.rooms[.lobby]?.head == 2)
    }

    @Test mutating func `numbers begin with 1`() {
        let (zero, least) = (stage.member("ann"), stage.member("bob"))
        stage.hear(zero, .publish(.lobby, .void(0)))
        stage.hear(least, .publish(.lobby, Publication(cseq: .min, id: .numbered(1), sent: 0, content: nil)))
        #expect(stage.closed[zero] == 4100 && stage.closed[least] == 4100)
    }

    @Test mutating func `a giant number is a hole like any other`() {
        let ann = stage.member("ann")
        stage.hear(ann, .publish(.lobby, Publication(cseq: .max, id: .numbered(1), sent: 0, content: nil)))
        #expect(stage.heard(ann) == [.hole(.lobby, expected: 1)])
    }

    // MARK: One append at a time

    @Test mutating func `what comes while an append is under way gathers into the next one`() {
        let (ann, bob) = (stage.member("ann"), stage.member("bob"))
        stage.holdsLog = true
        stage.publish(ann, 1...1)
        stage.publish(bob, 1...2)
        stage.publish(ann, 2...2)
        #expect(stage.orders.count == 1)
        stage.answer(1)
        guard case .append(.lobby, _, let records)? = stage.orders.first else { return #expect(Bool(false), "no append") }
        #expect(records.count == 3 && stage.orders.count == 1)
        stage.answer()
        let said = stage.heard(bob)
        #expect(said.acks.map(\.seq) == [2, 3] && said.entries == [1, 2, 3, 4])
        // Those that were committed together come together.
        #expect(said.count(where: { if case .entries = $0 { true } else { false } }) == 2)
    }

    @Test mutating func `many entries come in frames of bounded size`() {
        var policy = HubPolicy()
        policy.pageBytes = 1000
        stage = HubStage(policy)
        let (ann, bob) = (stage.member("ann"), stage.member("bob"))
        stage.holdsLog = true
        stage.publish(ann, 1...6)
        stage.answer()
        let said = stage.heard(bob)
        #expect(said.entries == [1, 2, 3, 4, 5, 6] && said.count == 4)
    }

    @Test mutating func `an answer to another append changes nothing`() {
        let ann = stage.member("ann")
        stage.holdsLog = true
        stage.publish(ann, 1...1)
        stage.give(.log(.appended(.lobby, batch: 12345)), .log(.notAppended(.lobby, batch: 12345)))
        #expect(stage.heard(ann).isEmpty)
        stage.answer()
        #expect(stage.heard(ann).acks.count == 1)
    }

    // MARK: Voids

    @Test mutating func `a void burns its number, and is delivered to nobody`() {
        let (ann, bob) = (stage.member("ann"), stage.member("bob"))
        stage.hear(ann, .publish(.lobby, .void(1)))
        stage.publish(ann, 2...2)
        let said = stage.heard(ann)
        #expect(
            said.acks == [
                .init(cseq: 1, seq: 0, at: HubStage.newYear, id: .numbered(1)),
                .init(cseq: 2, seq: 1, at: HubStage.newYear, id: .numbered(2)),
            ])
        #expect(stage.heard(bob).entries == [1])
        #expect(stage.log.rooms[.lobby]?.marks[.numbered(ann.number)]?.high == 2)
    }

    @Test mutating func `a void is taken from who may not write, too`() {
        stage.grants = [Grant("*", [.read])]
        let ann = stage.member("ann")
        stage.publish(ann, 1...2)
        let said = stage.heard(ann)
        #expect(said.codes == [.rights] && said.last == .hole(.lobby, expected: 1))
        stage.hear(ann, .publish(.lobby, .void(1)))
        #expect(stage.heard(ann).acks.map(\.cseq) == [1])
    }

    // MARK: Refused for good

    @Test mutating func `what is too long is refused for good`() {
        let ann = stage.member("ann")
        for publication in [
            Publication.numbered(1, bytes: 65_537), .numbered(1, type: ""), .numbered(1, type: String(repeating: "x", count: 65)),
            Publication(
                cseq: 1, id: .numbered(1), sent: HubStage.newYear,
                content: .init(type: "t", about: .init(kind: "", seq: 1), payload: .json([49]))),
        ] {
            stage.hear(ann, .publish(.lobby, publication))
            #expect(stage.heard(ann).refusals.map { [$0.code.rawValue, $0.cseq, $0.retry == .never ? 1 : 0] } == [[4002, 1, 1]])
        }
        stage.hear(ann, .publish(.lobby, .numbered(1, type: String(repeating: "x", count: 64), bytes: 65_536)))
        #expect(stage.heard(ann).acks.count == 1)
    }

    @Test mutating func `what was issued too long ago, or in the future, is refused for good`() {
        let ann = stage.member("ann")
        let (window, hour) = (90 * 86_400_000 as Int64, 3_600_000 as Int64)
        for (sent, code) in [
            (HubStage.newYear - window - 1, Refusal.Code.tooOld), (.min, .tooOld), (HubStage.newYear + hour + 1, .tooNew), (.max, .tooNew),
        ] {
            stage.hear(ann, .publish(.lobby, .numbered(1, sent: sent)))
            #expect(stage.heard(ann).codes == [code])
        }
        stage.hear(
            ann, .publish(.lobby, .numbered(1, sent: HubStage.newYear - window)),
            .publish(.lobby, .numbered(2, sent: HubStage.newYear + hour)))
        #expect(stage.heard(ann).acks.count == 2)
    }

    @Test mutating func `what stands behind a refused one waits for it to be burnt`() {
        let ann = stage.member("ann")
        stage.hear(ann, .publish(.lobby, .numbered(1, bytes: 70_000)))
        stage.publish(ann, 2...3)
        #expect(stage.heard(ann).last == .hole(.lobby, expected: 1))
        stage.hear(ann, .publish(.lobby, .void(1)))
        stage.publish(ann, 2...3)
        #expect(stage.heard(ann).acks.map(\.seq) == [0, 1, 2])
    }

    // MARK: Refused for now

    @Test mutating func `who has not joined, or has no state yet, is told so`() {
        let ann = stage.client("ann")
        stage.publish(ann, 1...1)
        #expect(stage.heard(ann).refusals.map(\.retry) == [.now])
        stage.holdsLog = true
        stage.hear(ann, .join(.init(room: .lobby)))
        stage.publish(ann, 1...1)
        #expect(stage.heard(ann).codes == [.early])
    }

    @Test mutating func `a number refused by its rate is not burnt, and those behind it are not asked for`() throws {
        var policy = HubPolicy()
        policy.connection.messages = .init(perSecond: 1, burst: 2)
        stage = HubStage(policy)
        let ann = stage.member("ann")
        stage.publish(ann, 1...5)
        let said = stage.heard(ann)
        #expect(said.acks.map(\.cseq) == [1, 2])
        let refusal = try #require(said.refusals.first)
        guard case .after(let wait) = refusal.retry else { return #expect(Bool(false), "no time") }
        #expect(said.refusals.count == 1 && refusal.code == .rate && refusal.cseq == 3 && (500...2000).contains(wait))
        #expect(!said.contains { if case .hole = $0 { true } else { false } })
        stage.pass(.milliseconds(wait))
        stage.publish(ann, 3...3)
        #expect(stage.heard(ann).acks.map(\.cseq) == [3])
    }

    @Test mutating func `bytes have a rate, too`() {
        var policy = HubPolicy()
        policy.connection.bytes = .init(perSecond: 1000, burst: 2000)
        stage = HubStage(policy)
        let ann = stage.member("ann")
        stage.hear(ann, .publish(.lobby, .numbered(1)), .publish(.lobby, .numbered(2)), bytes: 1900)
        let said = stage.heard(ann)
        #expect(said.acks.count == 1 && said.codes == [.rate])
    }

    @Test mutating func `a user and an address have rates with all their connections`() {
        for isUser in [true, false] {
            var policy = HubPolicy()
            let rate = HubPolicy.Rate(perSecond: 1, burst: 2)
            if isUser { policy.user.messages = rate } else { policy.address.messages = rate }
            var stage = HubStage(policy)
            let (one, other) = (stage.member("ann"), stage.member(isUser ? "ann" : "bob"))
            stage.publish(one, 1...2)
            stage.publish(other, 1...1)
            #expect(stage.heard(one).acks.count == 2 && stage.heard(other).codes == [.rate])
            // Coming again gives nothing more.
            for id in [one, other] { stage.give(.gone(id)) }
            let again = stage.member(isUser ? "ann" : "bob", device: 77)
            stage.publish(again, 1...1)
            #expect(stage.heard(again).codes == [.rate])
            stage.pass(.seconds(4))
            stage.publish(again, 1...1)
            #expect(stage.heard(again).acks.count == 1)
        }
    }

    @Test mutating func `no more is taken than the windows`() {
        var policy = HubPolicy()
        (policy.limits.roomWindow, policy.limits.window) = (3, 5)
        stage = HubStage(policy)
        let ann = stage.member("ann")
        let other = RoomName("other")!
        stage.hear(ann, .join(.init(room: other)))
        stage.holdsLog = true
        _ = stage.heard(ann)
        stage.publish(ann, 1...4)
        stage.publish(ann, 1...3, in: other)
        #expect(stage.heard(ann).refusals.map(\.cseq) == [4, 3])
        stage.answer()
        stage.publish(ann, 4...4)
        stage.publish(ann, 3...3, in: other)
        stage.answer()
        #expect(stage.heard(ann).acks.count == 7)
    }

    // MARK: The log fails

    @Test mutating func `what may not be on disk is given up, and taken again when the room is open again`() {
        let (ann, bob) = (stage.member("ann"), stage.member("bob"))
        stage.log.fates = [.refused]
        stage.holdsLog = true
        stage.publish(ann, 1...2)
        stage.publish(bob, 1...1)
        stage.answer()
        let (first, second) = (stage.heard(ann), stage.heard(bob))
        #expect(first.refusals.map(\.cseq) == [1] && first.codes == [.storage] && second.codes == [.storage] && first.acks.isEmpty)
        #expect(stage.hub.figures.closedRooms == 1 && stage.hub.figures.failedAppends == 1)
        stage.publish(ann, 1...1)
        #expect(stage.heard(ann).codes == [.storage] && stage.orders.isEmpty)
        stage.holdsLog = false
        stage.pass(.seconds(1))
        #expect(stage.hub.figures.closedRooms == 0)
        stage.publish(ann, 1...2)
        #expect(stage.heard(ann).acks.map(\.seq) == [1, 2])
        #expect(stage.heard(bob).entries == [1, 2])
    }

    @Test mutating func `what is on disk after all is found there`() {
        let (ann, bob) = (stage.member("ann"), stage.member("bob"))
        stage.log.fates = [.uncertain]
        stage.publish(ann, 1...1)
        #expect(stage.heard(ann).codes == [.storage] && stage.heard(bob).isEmpty)
        stage.pass(.seconds(1))
        // The log is longer than was told: all join again.
        #expect(stage.heard(ann) == [.lag(.lobby, head: 1)] && stage.heard(bob) == [.lag(.lobby, head: 1)])
        stage.publish(ann, 1...1)
        #expect(stage.heard(ann).codes == [.early])
        for id in [ann, bob] {
            stage.hear(id, .join(.init(room: .lobby, cursor: LogPosition(epoch: stage.log.rooms[.lobby]!.epoch, seq: 0))))
        }
        #expect(stage.heard(bob).states.first?.items.map(\.seq) == [1])
        #expect(stage.heard(ann).states.first?.high == 1)
        stage.publish(ann, 1...2)
        let said = stage.heard(ann)
        #expect(said.acks.map(\.isDuplicate).contains(true) && said.entries == [2])
    }

    @Test mutating func `a void that is on disk after all is found there, too`() {
        let ann = stage.member("ann")
        stage.log.fates = [.uncertain]
        stage.hear(ann, .publish(.lobby, .void(1)))
        stage.pass(.seconds(1))
        _ = stage.heard(ann)
        stage.hear(ann, .publish(.lobby, .void(1)))
        #expect(stage.heard(ann).acks == [.init(cseq: 1, seq: 0, at: 0, id: .numbered(1), isDuplicate: true)])
    }

    @Test mutating func `a log that was rewound has another epoch, which all learn`() {
        let empty = stage.log
        let (ann, bob) = (stage.member("ann"), stage.member("bob"))
        let early = stage.log
        stage.publish(ann, 1...3)
        stage.log.rewind(to: early)
        stage.log.fates = [.refused]
        stage.publish(ann, 4...4)
        stage.pass(.seconds(1))
        #expect(stage.heard(ann).last == .lag(.lobby, head: 0) && stage.heard(bob).last == .lag(.lobby, head: 0))
        stage.hear(bob, .join(.init(room: .lobby, cursor: LogPosition(epoch: 0xE1, seq: 3))))
        let state = stage.heard(bob).states.first
        #expect(state?.isSnapshot == true && state?.head == 0 && state?.epoch != 0xE1 && empty.rooms.isEmpty)
    }

    @Test mutating func `a room that fails again stays closed for longer`() {
        let ann = stage.member("ann")
        stage.log.fates = Array(repeating: .refused, count: 8)
        var waits: [Int64] = []
        for _ in 0..<7 {
            stage.publish(ann, 1...1)
            guard case .after(let wait)? = stage.heard(ann).refusals.last?.retry else { return #expect(Bool(false), "no time") }
            waits.append(wait)
            stage.pass(.milliseconds(wait))
        }
        #expect(waits == [1100, 2100, 4100, 8100, 16_100, 16_100, 16_100])
        stage.log.fates = []
        stage.publish(ann, 1...1)
        #expect(stage.heard(ann).acks.count == 1)
    }

    // MARK: The server's own

    @Test mutating func `the server publishes as clients do`() {
        let ann = stage.member("ann")
        let (first, again) = (ServerRequest(1), ServerRequest(2))
        stage.give(.publish(first, .lobby, .numbered(50), UserName("bot")!, .numbered(1)))
        #expect(stage.heard(ann).entries == [1])
        let epoch = stage.log.rooms[.lobby]!.epoch
        #expect(stage.answers[first] == .stored(epoch: epoch, .init(cseq: 1, seq: 1, at: HubStage.newYear, id: .numbered(1))))
        stage.give(.publish(again, .lobby, .numbered(50), UserName("bot")!, .numbered(1)))
        #expect(
            stage.answers[again] == .stored(epoch: epoch, .init(cseq: 1, seq: 1, at: HubStage.newYear, id: .numbered(1), isDuplicate: true))
        )
        #expect(stage.log.rooms[.lobby]?.head == 1)
    }

    @Test mutating func `requests for the same publication at once are answered together, and it is stored once`() {
        stage.holdsLog = true
        for number in 1...3 as ClosedRange<UInt64> {
            stage.give(.publish(ServerRequest(number), .lobby, .numbered(50), UserName("bot")!, .numbered(1)))
        }
        stage.answer(2)
        stage.give(.publish(ServerRequest(4), .lobby, .numbered(50), UserName("bot")!, .numbered(1)))
        #expect(stage.answers.isEmpty)
        stage.answer()
        #expect(stage.answers.count == 4 && stage.log.rooms[.lobby]?.head == 1)
        stage.pass(.seconds(61))
        #expect(stage.hub.figures.rooms == 0)
    }

    @Test mutating func `what the server publishes without a number gets the next one, whatever waits`() {
        let (device, bot) = (DeviceID.numbered(50), UserName("bot")!)
        func give(_ request: UInt64, cseq: Int64 = 0) {
            var publication = Publication.numbered(7)
            publication.cseq = cseq
            stage.give(.publish(ServerRequest(request), .lobby, device, bot, publication))
        }
        stage.holdsLog = true
        for request in 1...3 as ClosedRange<UInt64> { give(request) }
        stage.answer(1)
        give(4)
        stage.answer()
        stage.pass(.seconds(100))
        give(5)
        give(6, cseq: -1)
        stage.answer()
        let places = (1...5 as ClosedRange<UInt64>).map { request -> [Int64] in
            guard case .stored(_, let ack)? = stage.answers[ServerRequest(request)], !ack.isDuplicate else { return [] }
            return [ack.cseq, ack.seq]
        }
        #expect(places == (1...5).map { [$0, $0] } && stage.log.rooms[.lobby]?.marks[device]?.high == 5)
        guard case .refused? = stage.answers[ServerRequest(6)] else {
            Issue.record("a number below 0 was taken")
            return
        }
    }

    @Test mutating func `what the server cannot publish is answered, too`() {
        func code(_ answer: ServerAnswer?) -> Refusal.Code? { if case .refused(let refusal)? = answer { refusal.code } else { nil } }
        let bot = UserName("bot")!
        stage.give(.publish(ServerRequest(1), .lobby, .numbered(50), bot, .numbered(1, bytes: 70_000)))
        stage.give(.publish(ServerRequest(2), .lobby, .numbered(50), bot, .numbered(2)))
        stage.log.fates = [.refused]
        stage.give(.publish(ServerRequest(3), .lobby, .numbered(50), bot, .numbered(1)))
        stage.give(.publish(ServerRequest(4), .lobby, .numbered(50), bot, .numbered(1)))
        stage.log.isReadable = false
        stage.give(.publish(ServerRequest(5), RoomName("other")!, .numbered(50), bot, .numbered(1)))
        stage.log.isReadable = true
        _ = stage.member("ann", of: RoomName("third")!, device: 9)
        stage.give(.publish(ServerRequest(6), RoomName("third")!, .numbered(9), bot, .numbered(1)))
        #expect((1...6).map { code(stage.answers[ServerRequest($0)]) } == [.size, .early, .storage, .storage, .storage, .device])
    }
}
