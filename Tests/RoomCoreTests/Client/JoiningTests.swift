import MachineCore
import RoomCore
import Testing

@Suite struct ClientJoiningTests {
    private let abc = ClientBench.abc
    private let epoch = ClientBench.epoch
    private let other = RoomName("other")!
    private var stored: StoredRoom { StoredRoom(cursor: LogPosition(epoch: epoch, seq: 10), first: 4, next: 3, read: 7) }

    private func join(_ cursor: LogPosition, limit: Int64 = JoinWish().limit, next: Int64 = 3) -> ClientFrame.Join {
        ClientFrame.Join(room: abc, cursor: cursor, limit: limit, wantsPresence: true, next: next)
    }
    private func hello(_ joins: ClientFrame.Join...) -> ClientFrame {
        .hello(ClientFrame.Hello(versions: [1], device: ClientBench.device, token: "t", joins: joins))
    }
    private func joined(_ frames: [ClientFrame]) -> [RoomName] {
        frames.flatMap { frame -> [RoomName] in
            switch frame {
            case .join(let join): [join.room]
            case .hello(let hello): hello.joins.map(\.room)
            default: []
            }
        }
    }

    // MARK: Hello

    @Test func `the first frame is hello, and resumes the rooms that are read`() {
        var bench = ClientBench()
        bench.handle(.join(abc, JoinWish()), .join(other, JoinWish()))
        #expect(bench.look().suffix(2) == [.news(.phase(other, .loading)), .load(other)])
        bench.load(stored)
        bench.open()
        #expect(bench.sent() == [hello(join(stored.cursor))])
        bench.welcome()
        #expect(bench.sent() == [])
        bench.load(StoredRoom(), other)
        #expect(joined(bench.sent()) == [other])
    }

    @Test(arguments: [
        (JoinWish.Start.now, LogPosition(epoch: 0, seq: -1)), (.last(20), LogPosition(epoch: 0, seq: -20)), (.beginning, .nowhere),
    ])
    func `a room of which nothing is stored begins where the app wants`(start: JoinWish.Start, cursor: LogPosition) {
        var bench = ClientBench()
        bench.handle(.join(abc, JoinWish(start: start)))
        bench.load()
        bench.open()
        #expect(bench.sent() == [hello(join(cursor, limit: 0, next: 1))])
    }

    @Test func `more rooms than a hello may hold are joined after the welcome`() {
        var policy = RoomsPolicy()
        policy.joinsInHello = 1
        var bench = ClientBench(policy: policy)
        for room in [abc, other] {
            bench.handle(.join(room, JoinWish()))
            bench.load(stored, room)
        }
        bench.open()
        #expect(joined(bench.sent()) == [abc])
        bench.welcome()
        #expect(joined(bench.sent()) == [other])
    }

    @Test func `without a welcome the connection ends after 15 seconds`() {
        var bench = ClientBench()
        bench.open()
        bench.pass(.milliseconds(14_999))
        _ = bench.look()
        bench.pass(.milliseconds(1))
        #expect(bench.look() == [.reconnect(after: 0)])
    }

    @Test func `a hub of another version is left for good`() {
        var bench = ClientBench()
        bench.open()
        _ = bench.look()
        bench.welcome { $0.version = 2 }
        guard case .stop(let refusal) = bench.look().first else {
            Issue.record("not stopped")
            return
        }
        #expect(refusal.code == .version)
    }

    @Test(arguments: [
        (Refusal(.version, versions: [9], ""), RoomsEffect.stop(Refusal(.version, versions: [9], ""))),
        (Refusal(.token, ""), .stop(Refusal(.token, ""))), (Refusal(.device, ""), .stop(Refusal(.device, ""))),
        (Refusal(.expired, retry: .reconnect, ""), .reconnect(after: 0)),
        (Refusal(.count, retry: .after(1500), ""), .reconnect(after: 1500)),
        (Refusal(.count, ""), .stop(Refusal(.count, ""))),
    ])
    func `who is refused at the door stops, or comes again as the hub says`(refusal: Refusal, effect: RoomsEffect) {
        var bench = ClientBench()
        bench.open()
        _ = bench.look()
        bench.receive(.refusal(refusal))
        #expect(bench.look() == [effect])
        bench.welcome()
        #expect(bench.look() == [])
    }

    @Test func `a fresh token is shown on the connection, after the welcome, and rooms that were refused are tried again`() {
        var bench = ClientBench()
        bench.handle(.join(abc, JoinWish()))
        bench.load(stored)
        bench.open()
        bench.handle(.token("new"))
        _ = bench.look()
        bench.welcome()
        #expect(bench.sent() == [.auth(token: "new")])
        bench.receive(.refusal(Refusal(.rights, room: abc, "no")))
        #expect(bench.news() == [.phase(abc, .refused(Refusal(.rights, room: abc, "no")))])
        bench.receive(.renewed(expires: 77))
        let effects = bench.look()
        #expect(effects.first == .news(.welcomed(ClientBench.ann, connection: "c1", limits: RoomsLimits(), expires: 77)))
        #expect(effects.last == .send(.join(join(stored.cursor))))
    }

    @Test func `a hub that stops is left once what is on its way is acked, until it may be asked again`() {
        var bench = ClientBench.live()
        bench.receive(.goaway(.init(after: 5000, drain: 10_000)))
        #expect(bench.look() == [.news(.phase(abc, .waiting)), .reconnect(after: 5000)])
        bench = ClientBench.live()
        bench.submit(1)
        bench.write()
        bench.receive(.goaway(.init(after: 5000, drain: 10_000)))
        bench.submit(2)
        bench.write()
        _ = bench.look()
        bench.pass(.seconds(2))
        bench.receive(.ack(1, seq: 11, id: 1))
        #expect(bench.look().last == .reconnect(after: 3000))
        #expect(bench.sent() == [])
    }

    @Test func `a hub that stops and acks nothing is left before its time is over`() {
        var bench = ClientBench.live()
        bench.submit(1)
        bench.write()
        bench.receive(.goaway(.init(after: 20_000, drain: 8000)))
        _ = bench.look()
        bench.pass(.seconds(6))
        #expect(bench.look().last == .reconnect(after: 14_000))
    }

    // MARK: One by one

    @Test func `after five resumes in a row that fail each room is joined alone, and a bad one keeps no other out`() {
        var bench = ClientBench()
        for room in [abc, other] {
            bench.handle(.join(room, JoinWish()))
            bench.load(stored, room)
        }
        for _ in 0..<5 {
            bench.open()
            bench.welcome()
            bench.receive(.state(after: 10, room: other))
            bench.handle(.lost)
            #expect(joined(bench.sent()) == [abc, other])
        }
        bench.open()
        #expect(joined(bench.sent()) == [])
        bench.welcome()
        #expect(joined(bench.sent()) == [abc])
        bench.handle(.lost)
        bench.open()
        bench.welcome()
        #expect(joined(bench.sent()) == [other])
        bench.receive(.state(after: 10, room: other))
        _ = bench.look()
        bench.pass(.seconds(10))
        #expect(joined(bench.sent()) == [abc])
        bench.receive(.state(after: 10))
        bench.handle(.lost)
        bench.open()
        #expect(joined(bench.sent()) == [abc, other], "all is well again")
    }

    // MARK: States

    @Test func `what was missed is stored, then told, then the room is live`() {
        var bench = ClientBench()
        bench.handle(.join(abc, JoinWish()))
        bench.load(stored)
        bench.open()
        bench.welcome()
        _ = bench.look()
        bench.receive(.state(after: 10, [.of(11), .of(12)], high: 2))
        #expect(
            bench.look() == [
                .commit(1, [.append(abc, epoch: epoch, [.of(11), .of(12)])]), .send(.read(abc, upTo: 7)),
                .send(.presence(abc, Presence())),
            ])
        bench.handle(.committed(1))
        #expect(
            bench.look() == [
                .news(.appended(abc, epoch: epoch, [.of(11), .of(12)])), .news(.phase(abc, .live(head: 12, rights: .member))),
            ])
    }

    @Test func `the next page is asked for only once the last one is on disk`() {
        var bench = ClientBench()
        bench.handle(.join(abc, JoinWish()))
        bench.load(stored)
        bench.open()
        bench.welcome()
        bench.receive(.state(after: 10, [.of(11)], head: 12, more: true, high: 2))
        #expect(bench.look().contains(.news(.phase(abc, .catchingUp(head: 12)))))
        bench.handle(.committed(1))
        #expect(bench.sent() == [.join(join(LogPosition(epoch: epoch, seq: 11)))])
        bench.receive(.state(after: 11, [.of(12)], high: 2))
        bench.handle(.committed(2))
        #expect(bench.news().last == .phase(abc, .live(head: 12, rights: .member)))
    }

    @Test func `a snapshot replaces everything in one transaction, and its entries prove messages stored`() {
        var bench = ClientBench()
        bench.handle(.join(abc, JoinWish()))
        let row = OutboxRow(room: abc, publication: Publication(cseq: 3, id: .of(3), sent: ClientBench.noon, content: .text))
        bench.load(StoredRoom(cursor: stored.cursor, first: 4, next: 4, outbox: [row]))
        bench.open()
        bench.welcome()
        _ = bench.look()
        let items = [Entry.of(31, own: 3, id: 3), .of(32)]
        bench.receive(.state(after: 30, items, epoch: 0xE2, snapshot: true, high: 3))
        let cursor = LogPosition(epoch: 0xE2, seq: 32)
        #expect(bench.commits.map(\.changes) == [[.replace(abc, cursor: cursor, items), .remove(abc, cseq: 3)]])
        bench.write()
        #expect(
            bench.news() == [
                .replaced(abc, cursor, items), .stored(abc, .of(3), LogPosition(epoch: 0xE2, seq: 31)),
                .phase(abc, .live(head: 32, rights: .member)),
            ])
    }

    @Test func `a room that begins now stores nothing of what was before`() {
        var bench = ClientBench()
        bench.handle(.join(abc, JoinWish(start: .now)))
        bench.load()
        bench.open()
        bench.welcome()
        bench.receive(.state(after: 30, [.of(31)], snapshot: true))
        #expect(bench.commits.map(\.changes) == [[.replace(abc, cursor: LogPosition(epoch: epoch, seq: 31), [])]])
        bench.receive(.entries(.of(32)))
        #expect(bench.commits.last?.changes == [.append(abc, epoch: epoch, [.of(32)])])
    }

    @Test func `a room that is wanted from its beginning is filled up backwards, a page at a time`() {
        var bench = ClientBench()
        bench.handle(.join(abc, JoinWish(start: .beginning)))
        bench.load()
        bench.open()
        bench.welcome()
        bench.receive(.state(after: 2, [.of(3)], snapshot: true))
        #expect(!bench.sent().contains { if case .history = $0 { true } else { false } })
        bench.handle(.committed(1))
        #expect(bench.sent() == [.history(.init(reference: 1, room: abc, before: 3, limit: 500))])
        bench.receive(.page(.init(reference: 1, room: abc, epoch: epoch, items: [.of(2)], base: 1)))
        #expect(bench.commits.map(\.changes) == [[.prepend(abc, epoch: epoch, [.of(2)])]])
        bench.handle(.committed(2))
        #expect(bench.sent() == [.history(.init(reference: 2, room: abc, before: 2, limit: 500))])
        bench.receive(.page(.init(reference: 2, room: abc, epoch: epoch, items: [.of(1)], base: 1)))
        bench.handle(.committed(3))
        #expect(bench.sent() == [])
    }

    /// A room that is wanted from its beginning, and asks for what comes before.
    private func filling(_ policy: RoomsPolicy = RoomsPolicy()) -> ClientBench {
        var bench = ClientBench(policy: policy)
        bench.handle(.join(abc, JoinWish(start: .beginning)))
        bench.load()
        bench.open()
        bench.welcome()
        bench.receive(.state(after: 2, [.of(3)], snapshot: true))
        bench.write()
        _ = bench.look()
        return bench
    }

    @Test func `a page that does not come, or is refused for now, is asked for again after a while`() {
        var bench = filling()
        bench.pass(.seconds(15))
        #expect(bench.look() == [])
        bench.pass(.seconds(15))
        #expect(bench.sent() == [.history(.init(reference: 2, room: abc, before: 3, limit: 500))])
        bench.receive(.refusal(Refusal(.storage, retry: .after(20_000), reference: 2, "")))
        bench.pass(.milliseconds(19_999))
        #expect(bench.look() == [])
        bench.pass(.milliseconds(1))
        #expect(bench.sent() == [.history(.init(reference: 3, room: abc, before: 3, limit: 500))])
        // One that does not touch what is here is no help.
        bench.receive(.page(.init(reference: 3, room: abc, epoch: epoch, items: [.of(1)], base: 0)))
        bench.pass(.seconds(15))
        #expect(bench.look() == [.send(.history(.init(reference: 4, room: abc, before: 3, limit: 500)))])
    }

    @Test func `no more is asked for than the store keeps`() {
        var policy = RoomsPolicy()
        policy.keptEntries = 3
        var bench = filling(policy)
        bench.receive(.entries(.of(4)))
        bench.write()
        _ = bench.look()
        bench.receive(.page(.init(reference: 1, room: abc, epoch: epoch, items: [.of(2)], base: 1)))
        bench.write()
        #expect(bench.look().last == .news(.noPage(abc, reference: 0, nil)))
        bench.pass(.seconds(100))
        #expect(bench.look() == [])
    }

    @Test func `a page that is refused for good is not asked for again, and who waits for it is told`() {
        var bench = filling()
        let refusal = Refusal(.rights, reference: 1, "")
        bench.receive(.refusal(refusal))
        #expect(bench.look() == [.news(.noPage(abc, reference: 0, refusal))])
        bench.pass(.seconds(100))
        #expect(bench.look() == [])
    }

    @Test func `a device that another user has in a room is refused there, and the other rooms go on`() {
        var bench = ClientBench.live()
        bench.handle(.join(other, JoinWish()))
        bench.load(StoredRoom(), other)
        _ = bench.look()
        let refusal = Refusal(.device, room: other, "another user's")
        bench.receive(.refusal(refusal))
        #expect(bench.look() == [.news(.phase(other, .refused(refusal)))])
        bench.submit(1)
        bench.write()
        #expect(bench.sent().count == 1)
    }

    @Test func `who may not read stores nothing, and may still publish`() {
        var bench = ClientBench()
        bench.handle(.join(abc, JoinWish()))
        bench.load()
        bench.open()
        bench.welcome()
        bench.receive(.state(after: 30, rights: .write))
        #expect(bench.commits.isEmpty)
        bench.submit(1)
        bench.write()
        #expect(bench.sent().last == .publish(abc, Publication(cseq: 1, id: .of(1), sent: ClientBench.noon, content: .text)))
    }

    @Test func `a join without an answer for 15 seconds is asked again`() {
        var bench = ClientBench()
        bench.handle(.join(abc, JoinWish()))
        bench.load(stored)
        bench.open()
        bench.welcome()
        _ = bench.look()
        bench.pass(.milliseconds(14_999))
        #expect(bench.sent() == [])
        bench.pass(.milliseconds(1))
        #expect(bench.sent() == [.join(join(stored.cursor))])
    }

    @Test func `a join that is refused for now is asked again then, and for good not before the app or another connection wants it`() {
        var bench = ClientBench()
        bench.handle(.join(abc, JoinWish()))
        bench.load(stored)
        bench.open()
        bench.welcome()
        bench.receive(.refusal(Refusal(.lagging, retry: .after(2000), room: abc, "")))
        _ = bench.look()
        bench.pass(.milliseconds(1999))
        #expect(bench.sent() == [])
        bench.pass(.milliseconds(1))
        #expect(bench.sent() == [.join(join(stored.cursor))])
        bench.receive(.refusal(Refusal(.rights, room: abc, "")))
        bench.pass(.seconds(100))
        #expect(bench.sent() == [])
        bench.handle(.join(abc, JoinWish()))
        #expect(bench.sent() == [.join(join(stored.cursor))])
        bench.receive(.refusal(Refusal(.rights, room: abc, "")))
        bench.handle(.lost)
        bench.open()
        #expect(bench.sent() == [hello(join(stored.cursor))])
    }

    // MARK: Entries

    @Test func `entries that the room has are dropped, and the next ones taken`() {
        var bench = ClientBench.live()
        bench.receive(.entries(.of(9), .of(10), .of(11), .of(11), .of(12)))
        #expect(bench.commits.map(\.changes) == [[.append(abc, epoch: epoch, [.of(11), .of(12)])]])
    }

    @Test func `after a gap nothing more is taken, and the room is joined again once what was taken is on disk`() {
        var bench = ClientBench.live(stored: stored)
        bench.receive(.entries(.of(11), .of(13)), .entries(.of(12)))
        #expect(bench.commits.map(\.changes) == [[.append(abc, epoch: epoch, [.of(11)])]])
        #expect(!bench.effects.contains(.send(.join(join(LogPosition(epoch: epoch, seq: 11))))))
        bench.write()
        #expect(bench.sent() == [.join(join(LogPosition(epoch: epoch, seq: 11)))])
    }

    @Test func `entries of another epoch are not taken`() {
        var bench = ClientBench.live(stored: stored)
        bench.receive(.entries(.of(11), epoch: 0xE2))
        #expect(bench.look() == [.send(.join(join(stored.cursor)))])
    }

    @Test func `a room that lags is joined again once what it has is on disk`() {
        var bench = ClientBench.live(stored: stored)
        bench.receive(.entries(.of(11)), .lag(abc, head: 40))
        #expect(bench.effects.last == .news(.phase(abc, .catchingUp(head: 40))))
        bench.write()
        #expect(bench.sent() == [.join(join(LogPosition(epoch: epoch, seq: 11)))])
    }

    @Test func `a store that is too slow takes no more than it may; the hub is asked again for the others`() {
        var policy = RoomsPolicy()
        policy.unwrittenEntries = 2
        var bench = ClientBench.live(policy: policy, stored: stored)
        bench.receive(.entries(.of(11)), .entries(.of(12)), .entries(.of(13)), .entries(.of(14)))
        #expect(bench.commits.count == 2)
        bench.write()
        #expect(bench.sent() == [.join(join(LogPosition(epoch: epoch, seq: 12)))])
    }

    @Test(arguments: [
        HubFrame.state(after: 11, [.of(12)]), .state(after: 10, [.of(11), .of(13)]), .state(after: 10, [.of(11)], epoch: 0xE2),
        .state(after: 4, [.of(5)], snapshot: true), .state(after: 10, more: true), .state(after: 10, epoch: 0),
        .state(after: 10, [.of(11)], head: 10), .state(after: -5), .state(after: 10, high: -1),
    ])
    func `a state that does not match the join is not taken; after five in a minute the hub is left for a while`(state: HubFrame) {
        var bench = ClientBench()
        bench.handle(.join(abc, JoinWish()))
        bench.load(stored)
        bench.open()
        bench.welcome()
        for _ in 0..<4 {
            _ = bench.look()
            bench.receive(state)
            #expect(bench.look() == [.send(.join(join(stored.cursor)))])
        }
        bench.receive(state)
        guard case .reconnect(let after) = bench.look().last else {
            Issue.record("the hub was not left")
            return
        }
        #expect((500...1500).contains(after))
    }

    // MARK: Leaving

    @Test func `a room that is left is told so, and joined anew once what was ordered is on disk`() {
        var bench = ClientBench.live(stored: stored)
        bench.receive(.entries(.of(11)))
        bench.handle(.leave(abc))
        #expect(bench.look().suffix(2) == [.send(.leave(abc)), .news(.phase(abc, .left))])
        bench.handle(.join(abc, JoinWish()))
        #expect(bench.look() == [.news(.phase(abc, .loading))])
        bench.handle(.committed(bench.machine.lastCommit))
        #expect(bench.look().last == .load(abc))
    }

    @Test func `a room that is forgotten is left, and taken out of the store`() {
        var bench = ClientBench.live(stored: stored)
        bench.handle(.forget(abc))
        #expect(bench.look().last == .commit(bench.machine.lastCommit, [.forget(abc)]))
        bench.handle(.committed(bench.machine.lastCommit))
        bench.handle(.join(abc, JoinWish()))
        #expect(bench.look().last == .load(abc))
    }
}
