import MachineCore
import ProtocolCore
import RoomCore
import Testing

@Suite struct ClientPeopleTests {
    private let abc = ClientBench.abc
    private let bob = ClientBench.bob
    private let epoch = ClientBench.epoch

    private func member(_ connection: String, _ user: UserName = ClientBench.bob, _ status: String = "online") -> PresentMember {
        PresentMember(connection: connection, user: user, presence: Presence(status: status))
    }
    private func word(
        _ version: Int64, _ members: [PresentMember] = [], gone: [String] = [], full: Bool = false, node: String = "n", life: UInt64 = 1,
        total: Int64 = 0
    ) -> HubFrame {
        .members(
            .init(
                room: abc, node: node, incarnation: life, version: version, isFull: full, total: total, members: members, gone: gone))
    }

    // MARK: Presence

    @Test func `the members of a room are those of all nodes, by user and connection`() {
        var bench = ClientBench.live()
        bench.receive(word(3, [member("b2")], full: true), word(9, [member("b1"), member("a", ClientBench.ann)], full: true, node: "m"))
        #expect(bench.news().last == .members(abc, [member("a", ClientBench.ann), member("b1"), member("b2")], total: 3))
        bench.receive(word(4, [member("b3"), member("b2", bob, "away")], total: 2))
        #expect(
            bench.news() == [
                .members(abc, [member("a", ClientBench.ann), member("b1"), member("b2", bob, "away"), member("b3")], total: 4)
            ])
        bench.receive(word(5, gone: ["b2"], total: 1), word(10, full: true, node: "m"))
        #expect(bench.news().last == .members(abc, [member("b3")], total: 1))
    }

    @Test func `after a gap or a node restart a client asks for all members once, and again after 15 seconds without an answer`() {
        for gap in [word(5, [member("b")]), word(4, [member("b")], life: 2), word(1, node: "m")] {
            var bench = ClientBench.live()
            bench.receive(word(3, full: true))
            _ = bench.takeEffects()
            bench.receive(gap, gap)
            #expect(bench.takeEffects() == [.send(.members(abc))])
            bench.pass(.seconds(15))
            bench.receive(gap)
            #expect(bench.takeEffects() == [.send(.members(abc))])
        }
    }

    @Test func `a client ignores older presence updates`() {
        var bench = ClientBench.live()
        bench.receive(word(3, [member("b")], full: true))
        _ = bench.takeEffects()
        bench.receive(word(3, gone: ["b"]), word(2, full: true))
        #expect(bench.takeEffects() == [])
        bench.receive(word(1, [member("c")], full: true, life: 2))
        #expect(bench.news() == [.members(abc, [member("c")], total: 1)])
    }

    @Test func `a client keeps no more members than the hub's limit and its policy allow, and counts all`() {
        var policy = RoomsPolicy()
        policy.members = 2
        var bench = ClientBench.live(policy: policy)
        bench.receive(word(1, [member("a"), member("b"), member("c")], full: true, total: 3))
        bench.receive(word(2, [member("d")], total: 4))
        #expect(bench.news().last == .members(abc, [member("a"), member("b")], total: 4))
    }

    @Test func `without a connection a client shows no members`() {
        var bench = ClientBench.live()
        bench.receive(word(3, [member("b")], full: true))
        _ = bench.takeEffects()
        bench.handle(.lost)
        #expect(bench.news() == [.members(abc, [], total: 0), .phase(abc, .waiting)])
    }

    @Test func `a client sends its presence when it changes and after each join`() {
        var bench = ClientBench.live()
        let away = Presence(status: "away")
        bench.handle(.presence(abc, away), .presence(abc, away))
        #expect(bench.takeEffects() == [.send(.presence(abc, away))])
        bench.handle(.lost)
        bench.open()
        bench.welcome()
        _ = bench.takeEffects()
        bench.receive(.state(after: 10))
        #expect(bench.sent() == [.presence(abc, away)])
        bench = ClientBench.live(rights: [.read, .write])
        bench.handle(.presence(abc, away))
        #expect(bench.takeEffects() == [])
    }

    // MARK: Typing

    @Test func `a client sends typing at most every three seconds, and its end at once`() {
        var bench = ClientBench.live()
        bench.handle(.typing(abc, true))
        bench.pass(.milliseconds(2999))
        bench.handle(.typing(abc, true))
        #expect(bench.takeEffects() == [.send(.typing(abc, true))])
        bench.pass(.milliseconds(1))
        bench.handle(.typing(abc, true), .typing(abc, false), .typing(abc, false), .typing(abc, true))
        #expect(bench.takeEffects() == [true, false, true].map { .send(.typing(abc, $0)) })
        bench.pass(.seconds(6))
        bench.handle(.typing(abc, false))
        #expect(bench.takeEffects() == [], "it was forgotten already")
    }

    @Test func `another user types until a stop, for six seconds, or until the next message`() {
        var bench = ClientBench.live()
        let eve = UserName("eve")!
        bench.receive(.typing(abc, eve, true), .typing(abc, bob, true), .typing(abc, ClientBench.ann, true))
        #expect(bench.news() == [.typing(abc, [eve]), .typing(abc, [bob, eve])])
        bench.pass(.seconds(4))
        bench.receive(.typing(abc, bob, true))
        bench.pass(.milliseconds(1999))
        #expect(bench.takeEffects() == [])
        bench.pass(.milliseconds(1))
        #expect(bench.news() == [.typing(abc, [bob])])
        bench.receive(.entries(.of(11)))
        #expect(bench.news() == [.typing(abc, [])])
        bench.receive(.typing(abc, bob, true), .typing(abc, bob, false))
        #expect(bench.news() == [.typing(abc, [bob]), .typing(abc, [])])
    }

    @Test func `at most a hundred users are shown as typing`() {
        var bench = ClientBench.live()
        for number in 0..<150 { bench.receive(.typing(abc, UserName("u\(number)")!, true)) }
        guard case .typing(_, let users) = bench.news().last else {
            Issue.record("no user is shown as typing")
            return
        }
        #expect(users.count == 100)
    }

    // MARK: Signals

    @Test func `a client sends and receives signals while the room is live, and never stores them`() {
        var bench = ClientBench.live()
        let signal = Signal(type: "cursor", payload: .json([0x31]))
        bench.receive(.signal(abc, from: bob, connection: "b", signal))
        bench.handle(.signal(abc, signal))
        #expect(bench.takeEffects() == [.news(.signal(abc, from: bob, connection: "b", signal)), .send(.signal(abc, signal))])
        bench.handle(.signal(abc, Signal(type: "big", payload: .binary([UInt8](repeating: 0, count: 4097)))))
        bench.handle(.lost)
        bench.handle(.signal(abc, signal))
        #expect(bench.sent() == [])
    }

    // MARK: Read markers

    @Test func `a client stores and sends its own read marker, which never moves back and never passes the last entry`() {
        var bench = ClientBench.live()
        bench.handle(.read(abc, upTo: 8), .read(abc, upTo: 7), .read(abc, upTo: 99))
        let number = bench.machine.lastCommit
        #expect(
            bench.takeEffects() == [
                .commit(number - 1, [.read(abc, upTo: 8)]), .send(.read(abc, upTo: 8)), .commit(number, [.read(abc, upTo: 10)]),
                .send(.read(abc, upTo: 10)),
            ])
    }

    @Test func `after a join a client sends its read marker only if the hub has an older one`() {
        for (known, frames) in [(Int64(6), [ClientFrame.read(ClientBench.abc, upTo: 8)]), (8, [])] {
            var bench = ClientBench()
            bench.handle(.join(abc, JoinRequest(wantsPresence: false)))
            bench.load(StoredRoom(cursor: LogPosition(epoch: epoch, seq: 10), first: 1, read: 8))
            bench.open()
            bench.welcome()
            _ = bench.takeEffects()
            bench.receive(.state(after: 10, reads: [.init(user: ClientBench.ann, seq: known)]))
            #expect(bench.sent() == frames)
        }
    }

    @Test func `a client takes the read marker of the same user's other devices`() {
        var bench = ClientBench.live()
        bench.receive(.read(abc, ClientBench.ann, upTo: 9))
        #expect(
            bench.takeEffects() == [
                .news(.read(abc, ClientBench.ann, upTo: 9)), .commit(bench.machine.lastCommit, [.read(abc, upTo: 9)]),
            ])
    }

    @Test func `a client reports each read marker of another user once, and never an older one`() {
        var bench = ClientBench.live()
        bench.receive(.read(abc, bob, upTo: 5), .read(abc, bob, upTo: 5), .read(abc, bob, upTo: 4), .read(abc, bob, upTo: .max))
        #expect(bench.takeEffects() == [.news(.read(abc, bob, upTo: 5))])
    }

    // MARK: History

    private func page(_ reference: Int64, _ items: Entry..., epoch: UInt64 = ClientBench.epoch, base: Int64 = 1) -> HubFrame {
        .page(.init(reference: reference, room: abc, epoch: epoch, items: items, base: base))
    }
    private let stored = StoredRoom(cursor: LogPosition(epoch: ClientBench.epoch, seq: 10), first: 6)

    @Test func `a client stores a page that touches its stored entries, then reports it`() {
        var bench = ClientBench.live(stored: stored)
        bench.handle(.history(abc, reference: 77, before: 7, limit: 3))
        #expect(bench.sent() == [.history(.init(reference: 1, room: abc, before: 7, limit: 3))])
        bench.receive(page(1, .of(4), .of(5), .of(6)))
        #expect(bench.commits.map(\.changes) == [[.prepend(abc, epoch: epoch, [.of(4), .of(5)])]])
        bench.write()
        #expect(bench.news() == [.page(abc, reference: 77, [.of(4), .of(5), .of(6)], reachedBeginning: false)])
        bench.handle(.history(abc, reference: 78, before: 4, limit: 3))
        bench.receive(page(2, .of(3), base: 3))
        #expect(bench.commits.last?.changes == [.prepend(abc, epoch: epoch, [.of(3)])])
        bench.write()
        #expect(bench.news().last == .page(abc, reference: 78, [.of(3)], reachedBeginning: true))
    }

    @Test func `a client reports a page that does not touch its stored entries, and does not store it`() {
        var bench = ClientBench.live(stored: stored)
        bench.handle(.history(abc, reference: 77, before: 4, limit: 3))
        bench.receive(page(1, .of(2), .of(3)))
        #expect(bench.takeEffects().last == .news(.page(abc, reference: 77, [.of(2), .of(3)], reachedBeginning: false)))
        #expect(bench.commits.isEmpty)
    }

    @Test func `a history request fails without a connection, after 15 seconds, on a disconnect, and on an invalid page`() {
        let none: [RoomsNews] = [.noPage(abc, reference: 77, nil)]
        var offline = ClientBench()
        offline.handle(.history(abc, reference: 77, before: 4, limit: 3))
        #expect(offline.news() == none)
        func ask(_ body: (inout ClientBench) -> Void) -> [RoomsNews] {
            var bench = ClientBench.live(stored: stored)
            bench.handle(.history(abc, reference: 77, before: 6, limit: 3))
            _ = bench.takeEffects()
            body(&bench)
            return bench.news().filter { if case .noPage = $0 { true } else { false } }
        }
        #expect(ask { $0.pass(.seconds(15)) } == none)
        #expect(ask { $0.pass(.milliseconds(14_999)) } == [])
        #expect(ask { $0.handle(.lost) } == none)
        #expect(ask { $0.handle(.leave(ClientBench.abc)) } == none)
        for nonsense in [page(1, .of(5), epoch: 0xE2), page(1, .of(3), .of(5)), page(1, .of(6)), page(1, .of(0)), page(1, .of(.max))] {
            #expect(ask { $0.receive(nonsense) } == none)
        }
        let refusal = Refusal(.rights, reference: 1, "no")
        #expect(ask { $0.receive(.refusal(refusal)) } == [.noPage(abc, reference: 77, refusal)])
        #expect(
            ask {
                $0.receive(page(1, .of(5))); $0.handle(.notCommitted($0.machine.lastCommit, full: true))
            } == none)
    }
}
