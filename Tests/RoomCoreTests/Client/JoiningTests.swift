import MachineCore
import ProtocolCore
import RoomCore
import Testing

/// How a client joins rooms, fills them and leaves them.
@Suite struct ClientJoiningTests {
    private let abc = ClientBench.abc
    private let epoch = ClientBench.epoch
    private let other = RoomName("other")!
    private let stored = ClientBench.stored

    // MARK: States

    @Test func `a client stores missed entries, then reports them, then the room is live`() {
        var bench = ClientBench()
        bench.handle(.join(abc, JoinRequest()))
        bench.load(stored)
        bench.open()
        bench.welcome()
        _ = bench.takeEffects()
        bench.receive(.state(after: 10, [.of(11), .of(12)], high: 2))
        #expect(
            bench.takeEffects() == [
                .commit(1, [.append(abc, epoch: epoch, [.of(11), .of(12)])]), .send(.read(abc, upTo: 7)),
                .send(.presence(abc, Presence())),
            ])
        bench.handle(.committed(1))
        #expect(
            bench.takeEffects() == [
                .news(.appended(abc, epoch: epoch, [.of(11), .of(12)])), .news(.phase(abc, .live(head: 12, rights: .member))),
            ])
    }

    @Test func `a client asks for the next page only when it has stored the last one`() {
        var bench = ClientBench()
        bench.handle(.join(abc, JoinRequest()))
        bench.load(stored)
        bench.open()
        bench.welcome()
        bench.receive(.state(after: 10, [.of(11)], head: 12, more: true, high: 2))
        #expect(bench.takeEffects().contains(.news(.phase(abc, .catchingUp(head: 12)))))
        bench.handle(.committed(1))
        #expect(bench.sent() == [.join(.abc(LogPosition(epoch: epoch, seq: 11)))])
        bench.receive(.state(after: 11, [.of(12)], high: 2))
        bench.handle(.committed(2))
        #expect(bench.news().last == .phase(abc, .live(head: 12, rights: .member)))
    }

    @Test func `a snapshot replaces everything in one transaction, and its entries prove that messages are stored`() {
        var bench = ClientBench()
        bench.handle(.join(abc, JoinRequest()))
        let row = OutboxRow(room: abc, publication: Publication(cseq: 3, id: .of(3), sent: ClientBench.noon, content: .text))
        bench.load(StoredRoom(cursor: stored.cursor, first: 4, next: 4, outbox: [row]))
        bench.open()
        bench.welcome()
        _ = bench.takeEffects()
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

    @Test func `a room that begins now stores no earlier entries`() {
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

    @Test func `a room that is wanted from its beginning loads older pages one at a time`() {
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

    /// A room that is wanted from its beginning and asks for older entries.
    private func filling(_ policy: RoomsPolicy = RoomsPolicy()) -> ClientBench {
        var bench = ClientBench(policy: policy)
        bench.handle(.join(abc, JoinRequest(start: .beginning)))
        bench.load()
        bench.open()
        bench.welcome()
        bench.receive(.state(after: 2, [.of(3)], snapshot: true))
        bench.write()
        _ = bench.takeEffects()
        return bench
    }

    @Test func `a client asks again for a page that does not come or is refused for now`() {
        var bench = filling()
        bench.pass(.seconds(15))
        #expect(bench.takeEffects() == [])
        bench.pass(.seconds(15))
        #expect(bench.sent() == [.history(.init(reference: 2, room: abc, before: 3, limit: 500))])
        bench.receive(.refusal(Refusal(.storage, retry: .after(20_000), reference: 2, "")))
        bench.pass(.milliseconds(19_999))
        #expect(bench.takeEffects() == [])
        bench.pass(.milliseconds(1))
        #expect(bench.sent() == [.history(.init(reference: 3, room: abc, before: 3, limit: 500))])
        // A page that does not touch the stored entries does not help.
        bench.receive(.page(.init(reference: 3, room: abc, epoch: epoch, items: [.of(1)], base: 0)))
        bench.pass(.seconds(15))
        #expect(bench.takeEffects() == [.send(.history(.init(reference: 4, room: abc, before: 3, limit: 500)))])
    }

    @Test func `a client asks for no more entries than its store keeps`() {
        var policy = RoomsPolicy()
        policy.keptEntries = 3
        var bench = filling(policy)
        bench.receive(.entries(.of(4)))
        bench.write()
        _ = bench.takeEffects()
        bench.receive(.page(.init(reference: 1, room: abc, epoch: epoch, items: [.of(2)], base: 1)))
        bench.write()
        #expect(bench.takeEffects().last == .news(.noPage(abc, reference: 0, nil)))
        bench.pass(.seconds(100))
        #expect(bench.takeEffects() == [])
    }

    @Test func `a client does not ask again for a page that is refused for good, and reports the refusal`() {
        var bench = filling()
        let refusal = Refusal(.rights, reference: 1, "")
        bench.receive(.refusal(refusal))
        #expect(bench.takeEffects() == [.news(.noPage(abc, reference: 0, refusal))])
        bench.pass(.seconds(100))
        #expect(bench.takeEffects() == [])
    }

    @Test func `a hub refuses a device of another user in one room, and the other rooms go on`() {
        var bench = ClientBench.live()
        bench.handle(.join(other, JoinRequest()))
        bench.load(StoredRoom(), other)
        _ = bench.takeEffects()
        let refusal = Refusal(.device, room: other, "another user's")
        bench.receive(.refusal(refusal))
        #expect(bench.takeEffects() == [.news(.phase(other, .refused(refusal)))])
        bench.submit(1)
        bench.write()
        #expect(bench.sent().count == 1)
    }

    @Test func `a client without the read right stores no entries and may still publish`() {
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

    @Test func `a client repeats a join that has no answer for 15 seconds`() {
        var bench = ClientBench()
        bench.handle(.join(abc, JoinRequest()))
        bench.load(stored)
        bench.open()
        bench.welcome()
        _ = bench.takeEffects()
        bench.pass(.milliseconds(14_999))
        #expect(bench.sent() == [])
        bench.pass(.milliseconds(1))
        #expect(bench.sent() == [.join(.abc(stored.cursor))])
    }

    @Test func `a join refused for now is repeated at the retry time, one refused for good only for the app or a new connection`() {
        var bench = ClientBench()
        bench.handle(.join(abc, JoinRequest()))
        bench.load(stored)
        bench.open()
        bench.welcome()
        bench.receive(.refusal(Refusal(.lagging, retry: .after(2000), room: abc, "")))
        _ = bench.takeEffects()
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

    @Test func `a refusal of a malformed or too long status or signal does not end the room`() {
        var bench = ClientBench()
        bench.handle(.join(abc, JoinRequest()))
        bench.load(stored)
        bench.open()
        bench.welcome()
        _ = bench.takeEffects()
        for code in [Refusal.Code.malformed, .size] { bench.receive(.refusal(Refusal(code, room: abc, "meta: no JSON"))) }
        #expect(bench.takeEffects().isEmpty)
        bench.receive(.state(after: 10, [], high: 2))
        #expect(bench.news().last == .phase(abc, .live(head: 10, rights: .member)))
    }

    @Test func `a client joins again a room that the hub has no place for, whatever retry the hub gives`() {
        var bench = ClientBench()
        bench.handle(.join(abc, JoinRequest()))
        bench.load(stored)
        bench.open()
        bench.welcome()
        _ = bench.takeEffects()
        for (retry, pause) in [(Refusal.Retry.never, Duration.seconds(10)), (.never, .seconds(10)), (.after(30_000), .seconds(30))] {
            bench.receive(.refusal(Refusal(.count, retry: retry, room: abc, "too many rooms")))
            #expect(bench.takeEffects() == [], "the client reports no refusal")
            bench.pass(pause - .milliseconds(1))
            #expect(bench.sent() == [])
            bench.pass(.milliseconds(1))
            #expect(bench.sent() == [.join(.abc(stored.cursor))])
        }
        bench.receive(.state(after: 10, high: 2))
        #expect(bench.news().last == .phase(abc, .live(head: 10, rights: .member)))
    }

    @Test func `a client reports rights that are revoked while the room is live`() {
        var bench = ClientBench.live(stored: stored)
        bench.receive(.refusal(Refusal(.rights, room: abc, "no rights in this room any more")))
        #expect(bench.takeEffects() == [.send(.join(.abc(stored.cursor)))], "the answer to the join decides")
        bench.receive(.refusal(Refusal(.rights, room: abc, "no rights in this room")))
        #expect(bench.news() == [.phase(abc, .refused(Refusal(.rights, room: abc, "no rights in this room")))])
    }

    @Test func `refusals of single actions for lack of rights do not end the room, however many there are`() {
        var bench = ClientBench.live(stored: stored, rights: [.read, .write])
        for _ in 1...20 {
            bench.receive(.refusal(Refusal(.rights, room: abc, "no right to do that")))
            #expect(bench.takeEffects() == [.send(.join(.abc(stored.cursor)))])
            bench.receive(.state(after: 10, high: 2, rights: [.read, .write]))
            #expect(bench.takeEffects() == [], "it is live as before")
        }
    }

    // MARK: Leaving

    @Test func `a client sends a leave frame, and joins again only when pending transactions are on disk`() {
        var bench = ClientBench.live(stored: stored)
        bench.receive(.entries(.of(11)))
        bench.handle(.leave(abc))
        #expect(bench.takeEffects().suffix(2) == [.send(.leave(abc)), .news(.phase(abc, .left))])
        bench.handle(.join(abc, JoinRequest()))
        #expect(bench.takeEffects() == [.news(.phase(abc, .loading))])
        bench.handle(.committed(bench.machine.lastCommit))
        #expect(bench.takeEffects().last == .load(abc))
    }

    @Test func `before a close a client leaves each joined room, sends nothing more, and keeps the rooms it wants`() {
        var bench = ClientBench.live(stored: stored)
        bench.handle(.prepareToClose)
        #expect(bench.takeEffects() == [.send(.leave(abc)), .news(.phase(abc, .waiting))])
        bench.handle(.prepareToClose, .typing(abc, true))
        bench.receive(.entries(.of(11)))
        #expect(bench.takeEffects() == [], "nothing of this connection counts any more")
        bench.handle(.lost, .opened(RoomsGreeting(token: nil)))
        guard case .hello(let hello)? = bench.sent().first else { return #expect(Bool(false), "no hello") }
        #expect(hello.joins.map(\.room) == [abc])
    }

    @Test func `without a connection prepareToClose sends nothing`() {
        var bench = ClientBench.live(stored: stored)
        bench.handle(.lost)
        _ = bench.takeEffects()
        bench.handle(.prepareToClose)
        #expect(bench.takeEffects() == [])
    }

    @Test func `a client leaves a forgotten room and removes it from the store`() {
        var bench = ClientBench.live(stored: stored)
        bench.handle(.forget(abc))
        #expect(bench.takeEffects().last == .commit(bench.machine.lastCommit, [.forget(abc)]))
        bench.handle(.committed(bench.machine.lastCommit))
        bench.handle(.join(abc, JoinRequest()))
        #expect(bench.takeEffects().last == .load(abc))
    }
}

extension ClientBench {
    /// A room with seven stored entries, of which two numbers are used.
    static let stored = StoredRoom(cursor: LogPosition(epoch: epoch, seq: 10), first: 4, next: 3, read: 7)
}

extension ClientFrame.Join {
    /// The join of the room that most tests use.
    static func abc(_ cursor: LogPosition, limit: Int64 = JoinRequest().limit, next: Int64 = 3) -> ClientFrame.Join {
        ClientFrame.Join(room: ClientBench.abc, cursor: cursor, limit: limit, wantsPresence: true, next: next)
    }
}
