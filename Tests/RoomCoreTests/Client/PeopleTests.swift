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

    @Test func `members are those of all nodes, by user and connection`() {
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

    @Test func `after a gap or another life of the node all are asked for, once until they come or 15 seconds have passed`() {
        for gap in [word(5, [member("b")]), word(4, [member("b")], life: 2), word(1, node: "m")] {
            var bench = ClientBench.live()
            bench.receive(word(3, full: true))
            _ = bench.look()
            bench.receive(gap, gap)
            #expect(bench.look() == [.send(.members(abc))])
            bench.pass(.seconds(15))
            bench.receive(gap)
            #expect(bench.look() == [.send(.members(abc))])
        }
    }

    @Test func `what is older is passed over`() {
        var bench = ClientBench.live()
        bench.receive(word(3, [member("b")], full: true))
        _ = bench.look()
        bench.receive(word(3, gone: ["b"]), word(2, full: true))
        #expect(bench.look() == [])
        bench.receive(word(1, [member("c")], full: true, life: 2))
        #expect(bench.news() == [.members(abc, [member("c")], total: 1)])
    }

    @Test func `no more members are kept than the hub's limit and the policy allow; all are counted`() {
        var policy = RoomsPolicy()
        policy.members = 2
        var bench = ClientBench.live(policy: policy)
        bench.receive(word(1, [member("a"), member("b"), member("c")], full: true, total: 3))
        bench.receive(word(2, [member("d")], total: 4))
        #expect(bench.news().last == .members(abc, [member("a"), member("b")], total: 4))
    }

    @Test func `nobody is known to be present without a connection`() {
        var bench = ClientBench.live()
        bench.receive(word(3, [member("b")], full: true))
        _ = bench.look()
        bench.handle(.lost)
        #expect(bench.news() == [.members(abc, [], total: 0), .phase(abc, .waiting)])
    }

    @Test func `the own presence is told when it changes, and after each joining`() {
        var bench = ClientBench.live()
        let away = Presence(status: "away")
        bench.handle(.presence(abc, away), .presence(abc, away))
        #expect(bench.look() == [.send(.presence(abc, away))])
        bench.handle(.lost)
        bench.open()
        bench.welcome()
        _ = bench.look()
        bench.receive(.state(after: 10))
        #expect(bench.sent() == [.presence(abc, away)])
        bench = ClientBench.live(rights: [.read, .write])
        bench.handle(.presence(abc, away))
        #expect(bench.look() == [])
    }

    // MARK: Typing

    @Test func `typing is told at most every three seconds, its end at once`() {
        var bench = ClientBench.live()
        bench.handle(.typing(abc, true))
        bench.pass(.milliseconds(2999))
        bench.handle(.typing(abc, true))
        #expect(bench.look() == [.send(.typing(abc, true))])
        bench.pass(.milliseconds(1))
        bench.handle(.typing(abc, true), .typing(abc, false), .typing(abc, false), .typing(abc, true))
        #expect(bench.look() == [true, false, true].map { .send(.typing(abc, $0)) })
        bench.pass(.seconds(6))
        bench.handle(.typing(abc, false))
        #expect(bench.look() == [], "it was forgotten already")
    }

    @Test func `others type until they stop, for six seconds, or until their next message`() {
        var bench = ClientBench.live()
        let eve = UserName("eve")!
        bench.receive(.typing(abc, eve, true), .typing(abc, bob, true), .typing(abc, ClientBench.ann, true))
        #expect(bench.news() == [.typing(abc, [eve]), .typing(abc, [bob, eve])])
        bench.pass(.seconds(4))
        bench.receive(.typing(abc, bob, true))
        bench.pass(.milliseconds(1999))
        #expect(bench.look() == [])
        bench.pass(.milliseconds(1))
        #expect(bench.news() == [.typing(abc, [bob])])
        bench.receive(.entries(.of(11)))
        #expect(bench.news() == [.typing(abc, [])])
        bench.receive(.typing(abc, bob, true), .typing(abc, bob, false))
        #expect(bench.news() == [.typing(abc, [bob]), .typing(abc, [])])
    }

    @Test func `no more than a hundred type`() {
        var bench = ClientBench.live()
        for number in 0..<150 { bench.receive(.typing(abc, UserName("u\(number)")!, true)) }
        guard case .typing(_, let users) = bench.news().last else {
            Issue.record("nobody types")
            return
        }
        #expect(users.count == 100)
    }

    // MARK: Signals

    @Test func `signals come and go while the room is live, and are never kept`() {
        var bench = ClientBench.live()
        let signal = Signal(type: "cursor", payload: .json([0x31]))
        bench.receive(.signal(abc, from: bob, connection: "b", signal))
        bench.handle(.signal(abc, signal))
        #expect(bench.look() == [.news(.signal(abc, from: bob, connection: "b", signal)), .send(.signal(abc, signal))])
        bench.handle(.signal(abc, Signal(type: "big", payload: .binary([UInt8](repeating: 0, count: 4097)))))
        bench.handle(.lost)
        bench.handle(.signal(abc, signal))
        #expect(bench.sent() == [])
    }

    // MARK: Read markers

    @Test func `the own marker is stored and told, never goes back, and not beyond what is here`() {
        var bench = ClientBench.live()
        bench.handle(.read(abc, upTo: 8), .read(abc, upTo: 7), .read(abc, upTo: 99))
        let number = bench.machine.lastCommit
        #expect(
            bench.look() == [
                .commit(number - 1, [.read(abc, upTo: 8)]), .send(.read(abc, upTo: 8)), .commit(number, [.read(abc, upTo: 10)]),
                .send(.read(abc, upTo: 10)),
            ])
    }

    @Test func `after joining the own marker is told again only if the hub knows less`() {
        for (known, frames) in [(Int64(6), [ClientFrame.read(ClientBench.abc, upTo: 8)]), (8, [])] {
            var bench = ClientBench()
            bench.handle(.join(abc, JoinRequest(wantsPresence: false)))
            bench.load(StoredRoom(cursor: LogPosition(epoch: epoch, seq: 10), first: 1, read: 8))
            bench.open()
            bench.welcome()
            _ = bench.look()
            bench.receive(.state(after: 10, reads: [.init(user: ClientBench.ann, seq: known)]))
            #expect(bench.sent() == frames)
        }
    }

    @Test func `what the user read elsewhere is read here too`() {
        var bench = ClientBench.live()
        bench.receive(.read(abc, ClientBench.ann, upTo: 9))
        #expect(
            bench.look() == [
                .news(.read(abc, ClientBench.ann, upTo: 9)), .commit(bench.machine.lastCommit, [.read(abc, upTo: 9)]),
            ])
    }

    @Test func `markers of others are told once, and never back`() {
        var bench = ClientBench.live()
        bench.receive(.read(abc, bob, upTo: 5), .read(abc, bob, upTo: 5), .read(abc, bob, upTo: 4), .read(abc, bob, upTo: .max))
        #expect(bench.look() == [.news(.read(abc, bob, upTo: 5))])
    }

    // MARK: History

    private func page(_ reference: Int64, _ items: Entry..., epoch: UInt64 = ClientBench.epoch, base: Int64 = 1) -> HubFrame {
        .page(.init(reference: reference, room: abc, epoch: epoch, items: items, base: base))
    }
    private let stored = StoredRoom(cursor: LogPosition(epoch: ClientBench.epoch, seq: 10), first: 6)

    @Test func `a page that touches what is stored is stored, then told`() {
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

    @Test func `a page that does not touch is only told`() {
        var bench = ClientBench.live(stored: stored)
        bench.handle(.history(abc, reference: 77, before: 4, limit: 3))
        bench.receive(page(1, .of(2), .of(3)))
        #expect(bench.look().last == .news(.page(abc, reference: 77, [.of(2), .of(3)], reachedBeginning: false)))
        #expect(bench.commits.isEmpty)
    }

    @Test func `there is no page without a connection, after 15 seconds, when it is lost, or if it makes no sense`() {
        let none: [RoomsNews] = [.noPage(abc, reference: 77, nil)]
        var offline = ClientBench()
        offline.handle(.history(abc, reference: 77, before: 4, limit: 3))
        #expect(offline.news() == none)
        func ask(_ body: (inout ClientBench) -> Void) -> [RoomsNews] {
            var bench = ClientBench.live(stored: stored)
            bench.handle(.history(abc, reference: 77, before: 6, limit: 3))
            _ = bench.look()
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
