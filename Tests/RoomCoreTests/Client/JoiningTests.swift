import MachineCore
import ProtocolCore
import RoomCore
import Testing

/// What a room is told when it is joined, and how it is left.
@Suite struct ClientJoiningTests {
    private let abc = ClientBench.abc
    private let epoch = ClientBench.epoch
    private let other = RoomName("other")!
    private let stored = ClientBench.stored

    // MARK: States

    @Test func `what was missed is stored, then told, then the room is live`() {
        var bench = ClientBench()
        bench.handle(.join(abc, JoinRequest()))
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
        bench.handle(.join(abc, JoinRequest()))
        bench.load(stored)
        bench.open()
        bench.welcome()
        bench.receive(.state(after: 10, [.of(11)], head: 12, more: true, high: 2))
        #expect(bench.look().contains(.news(.phase(abc, .catchingUp(head: 12)))))
        bench.handle(.committed(1))
        #expect(bench.sent() == [.join(.abc(LogPosition(epoch: epoch, seq: 11)))])
        bench.receive(.state(after: 11, [.of(12)], high: 2))
        bench.handle(.committed(2))
        #expect(bench.news().last == .phase(abc, .live(head: 12, rights: .member)))
    }

    @Test func `a snapshot replaces everything in one transaction, and its entries prove messages stored`() {
        var bench = ClientBench()
        bench.handle(.join(abc, JoinRequest()))
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
        bench.handle(.join(abc, JoinRequest(start: .now)))
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
        bench.handle(.join(abc, JoinRequest(start: .beginning)))
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
        bench.handle(.join(abc, JoinRequest(start: .beginning)))
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
        bench.handle(.join(other, JoinRequest()))
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
        bench.handle(.join(abc, JoinRequest()))
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
        bench.handle(.join(abc, JoinRequest()))
        bench.load(stored)
        bench.open()
        bench.welcome()
        _ = bench.look()
        bench.pass(.milliseconds(14_999))
        #expect(bench.sent() == [])
        bench.pass(.milliseconds(1))
        #expect(bench.sent() == [.join(.abc(stored.cursor))])
    }

    @Test func `a join that is refused for now is asked again then, and for good not before the app or another connection wants it`() {
        var bench = ClientBench()
        bench.handle(.join(abc, JoinRequest()))
        bench.load(stored)
        bench.open()
        bench.welcome()
        bench.receive(.refusal(Refusal(.lagging, retry: .after(2000), room: abc, "")))
        _ = bench.look()
        bench.pass(.milliseconds(1999))
        #expect(bench.sent() == [])
        bench.pass(.milliseconds(1))
        #expect(bench.sent() == [.join(.abc(stored.cursor))])
        bench.receive(.refusal(Refusal(.rights, room: abc, "")))
        bench.pass(.seconds(100))
        #expect(bench.sent() == [])
        bench.handle(.join(abc, JoinRequest()))
        #expect(bench.sent() == [.join(.abc(stored.cursor))])
        bench.receive(.refusal(Refusal(.rights, room: abc, "")))
        bench.handle(.lost)
        bench.open()
        #expect(bench.sent() == [ClientBench.hello(.abc(stored.cursor))])
    }

    @Test func `what is malformed or too long is a status or a signal, and costs no room`() {
        var bench = ClientBench()
        bench.handle(.join(abc, JoinRequest()))
        bench.load(stored)
        bench.open()
        bench.welcome()
        _ = bench.look()
        for code in [Refusal.Code.malformed, .size] { bench.receive(.refusal(Refusal(code, room: abc, "meta: no JSON"))) }
        #expect(bench.look().isEmpty)
        bench.receive(.state(after: 10, [], high: 2))
        #expect(bench.news().last == .phase(abc, .live(head: 10, rights: .member)))
    }

    @Test func `a room that the hub has no place for is asked for again, whatever the hub says`() {
        var bench = ClientBench()
        bench.handle(.join(abc, JoinRequest()))
        bench.load(stored)
        bench.open()
        bench.welcome()
        _ = bench.look()
        for (retry, pause) in [(Refusal.Retry.never, Duration.seconds(10)), (.never, .seconds(10)), (.after(30_000), .seconds(30))] {
            bench.receive(.refusal(Refusal(.count, retry: retry, room: abc, "too many rooms")))
            #expect(bench.look() == [], "no verdict is told")
            bench.pass(pause - .milliseconds(1))
            #expect(bench.sent() == [])
            bench.pass(.milliseconds(1))
            #expect(bench.sent() == [.join(.abc(stored.cursor))])
        }
        bench.receive(.state(after: 10, high: 2))
        #expect(bench.news().last == .phase(abc, .live(head: 10, rights: .member)))
    }

    @Test func `rights that go while live are heard`() {
        var bench = ClientBench.live(stored: stored)
        bench.receive(.refusal(Refusal(.rights, room: abc, "no rights in this room any more")))
        #expect(bench.look() == [.send(.join(.abc(stored.cursor)))], "the answer tells")
        bench.receive(.refusal(Refusal(.rights, room: abc, "no rights in this room")))
        #expect(bench.news() == [.phase(abc, .refused(Refusal(.rights, room: abc, "no rights in this room")))])
    }

    @Test func `a word that one may not say costs no room, however often one says it`() {
        var bench = ClientBench.live(stored: stored, rights: [.read, .write])
        for _ in 1...20 {
            bench.receive(.refusal(Refusal(.rights, room: abc, "no right to do that")))
            #expect(bench.look() == [.send(.join(.abc(stored.cursor)))])
            bench.receive(.state(after: 10, high: 2, rights: [.read, .write]))
            #expect(bench.look() == [], "it is live as before")
        }
    }

    // MARK: Leaving

    @Test func `a room that is left is told so, and joined anew once what was ordered is on disk`() {
        var bench = ClientBench.live(stored: stored)
        bench.receive(.entries(.of(11)))
        bench.handle(.leave(abc))
        #expect(bench.look().suffix(2) == [.send(.leave(abc)), .news(.phase(abc, .left))])
        bench.handle(.join(abc, JoinRequest()))
        #expect(bench.look() == [.news(.phase(abc, .loading))])
        bench.handle(.committed(bench.machine.lastCommit))
        #expect(bench.look().last == .load(abc))
    }

    @Test func `before the end each room that was joined is left, nothing more is said, and what is wanted stays wanted`() {
        var bench = ClientBench.live(stored: stored)
        bench.handle(.prepareToClose)
        #expect(bench.look() == [.send(.leave(abc)), .news(.phase(abc, .waiting))])
        bench.handle(.prepareToClose, .typing(abc, true))
        bench.receive(.entries(.of(11)))
        #expect(bench.look() == [], "nothing of this connection counts any more")
        bench.handle(.lost, .opened(RoomsGreeting(token: nil)))
        guard case .hello(let hello)? = bench.sent().first else { return #expect(Bool(false), "no hello") }
        #expect(hello.joins.map(\.room) == [abc])
    }

    @Test func `without a connection there is nobody to say prepareToClose to`() {
        var bench = ClientBench.live(stored: stored)
        bench.handle(.lost)
        _ = bench.look()
        bench.handle(.prepareToClose)
        #expect(bench.look() == [])
    }

    @Test func `a room that is forgotten is left, and taken out of the store`() {
        var bench = ClientBench.live(stored: stored)
        bench.handle(.forget(abc))
        #expect(bench.look().last == .commit(bench.machine.lastCommit, [.forget(abc)]))
        bench.handle(.committed(bench.machine.lastCommit))
        bench.handle(.join(abc, JoinRequest()))
        #expect(bench.look().last == .load(abc))
    }
}

extension ClientBench {
    /// A room of which seven entries are stored, and two numbers given out.
    static let stored = StoredRoom(cursor: LogPosition(epoch: epoch, seq: 10), first: 4, next: 3, read: 7)
}

extension ClientFrame.Join {
    /// The room of most tests, from there on.
    static func abc(_ cursor: LogPosition, limit: Int64 = JoinRequest().limit, next: Int64 = 3) -> ClientFrame.Join {
        ClientFrame.Join(room: ClientBench.abc, cursor: cursor, limit: limit, wantsPresence: true, next: next)
    }
}
