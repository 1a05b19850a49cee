import MachineCore
import ProtocolCore
import RoomCore
import Testing

/// The first frame of a connection, and how the client handles its answer.
@Suite struct ClientHelloTests {
    private let abc = ClientBench.abc
    private let epoch = ClientBench.epoch
    private let other = RoomName("other")!
    private let stored = ClientBench.stored

    private func joined(_ frames: [ClientFrame]) -> [RoomName] {
        frames.flatMap { frame -> [RoomName] in
            switch frame {
            case .join(let join): [join.room]
            case .hello(let hello): hello.joins.map(\.room)
            default: []
            }
        }
    }

    @Test func `the first frame is hello, and it resumes the rooms whose stored state is known`() {
        var bench = ClientBench()
        bench.handle(.join(abc, JoinRequest()), .join(other, JoinRequest()))
        #expect(bench.takeEffects().suffix(2) == [.news(.phase(other, .loading)), .load(other)])
        bench.load(stored)
        bench.open()
        #expect(bench.sent() == [ClientBench.hello(.abc(stored.cursor))])
        #expect(bench.readies == 0)
        bench.welcome()
        #expect(bench.sent() == [])
        #expect(bench.readies == 1, "the connection is ready after the welcome")
        bench.load(StoredRoom(), other)
        #expect(joined(bench.sent()) == [other])
    }

    @Test(arguments: [
        (JoinRequest.Start.now, LogPosition(epoch: 0, seq: -1)), (.last(20), LogPosition(epoch: 0, seq: -20)), (.beginning, .nowhere),
        (.last(.max), LogPosition(epoch: 0, seq: 1 - (1 << 53))),
    ])
    func `a room without stored state begins where the app wants`(start: JoinRequest.Start, cursor: LogPosition) {
        var bench = ClientBench()
        bench.handle(.join(abc, JoinRequest(start: start)))
        bench.load()
        bench.open()
        #expect(bench.sent() == [ClientBench.hello(.abc(cursor, limit: 0, next: 1))])
    }

    @Test func `a client joins the rooms that do not fit into hello after the welcome`() {
        var policy = RoomsPolicy()
        policy.joinsInHello = 1
        var bench = ClientBench(policy: policy)
        for room in [abc, other] {
            bench.handle(.join(room, JoinRequest()))
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
        _ = bench.takeEffects()
        bench.pass(.milliseconds(1))
        #expect(bench.takeEffects() == [.reconnect(after: 0)])
    }

    @Test func `a client stops for good when the hub has another version`() {
        var bench = ClientBench()
        bench.open()
        _ = bench.takeEffects()
        bench.welcome { $0.version = 2 }
        let refusal = Refusal(.version, versions: [2], "the hub speaks another version")
        #expect(bench.takeEffects() == [.event(.stopped(refusal)), .end(.stop)])
    }

    @Test(arguments: [
        (Refusal(.version, versions: [9], ""), RoomsEffect.end(.stop)),
        (Refusal(.token, ""), .end(.stop)), (Refusal(.device, ""), .end(.stop)),
        (Refusal(.expired, retry: .reconnect, ""), .reconnect(after: 0)),
        (Refusal(.count, retry: .after(1500), ""), .reconnect(after: 1500)),
        (Refusal(.count, ""), .reconnect(after: 10_000)),
    ])
    func `a client that is refused at hello stops, or reconnects when the hub says`(refusal: Refusal, effect: RoomsEffect) {
        var bench = ClientBench()
        bench.open()
        _ = bench.takeEffects()
        bench.receive(.refusal(refusal))
        let stopped: [RoomsEffect] = effect == .end(.stop) ? [.event(.stopped(refusal))] : []
        #expect(bench.takeEffects() == [.event(.refused(refusal))] + stopped + [effect])
        bench.welcome()
        #expect(bench.takeEffects() == [])
    }

    @Test func `a client sends a fresh token after the welcome and joins refused rooms again`() {
        var bench = ClientBench()
        bench.handle(.join(abc, JoinRequest()))
        bench.load(stored)
        bench.open()
        bench.handle(.token("new"))
        _ = bench.takeEffects()
        bench.welcome()
        #expect(bench.sent() == [.auth(token: "new")])
        bench.receive(.refusal(Refusal(.rights, room: abc, "no")))
        #expect(bench.news() == [.phase(abc, .refused(Refusal(.rights, room: abc, "no")))])
        bench.receive(.renewed(expires: 77))
        let effects = bench.takeEffects()
        #expect(effects.first == .news(.welcomed(ClientBench.ann, connection: "c1", limits: RoomsLimits(), expires: 77)))
        #expect(effects.last == .send(.join(.abc(stored.cursor))))
    }

    @Test func `a client leaves a stopping hub when its publications are acked, and reconnects after the retry time`() {
        var bench = ClientBench.live()
        bench.receive(.goaway(.init(after: 5000, drain: 10_000)))
        #expect(bench.takeEffects() == [.news(.phase(abc, .waiting)), .reconnect(after: 5000)])
        bench = ClientBench.live()
        bench.submit(1)
        bench.write()
        bench.receive(.goaway(.init(after: 5000, drain: 10_000)))
        bench.submit(2)
        bench.write()
        _ = bench.takeEffects()
        bench.pass(.seconds(2))
        bench.receive(.ack(1, seq: 11, id: 1))
        #expect(bench.takeEffects().last == .reconnect(after: 3000))
        #expect(bench.sent() == [])
    }

    @Test func `a client leaves a stopping hub in time, even without acks`() {
        var bench = ClientBench.live()
        bench.submit(1)
        bench.write()
        bench.receive(.goaway(.init(after: 20_000, drain: 8000)))
        _ = bench.takeEffects()
        bench.pass(.seconds(6))
        #expect(bench.takeEffects().last == .reconnect(after: 14_000))
    }

    // MARK: Joining one by one

    @Test func `after five failed resumes in a row a client joins each room alone, and a bad room does not block the others`() {
        var bench = ClientBench()
        for room in [abc, other] {
            bench.handle(.join(room, JoinRequest()))
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
        _ = bench.takeEffects()
        bench.pass(.seconds(10))
        #expect(joined(bench.sent()) == [abc])
        bench.receive(.state(after: 10))
        bench.handle(.lost)
        bench.open()
        #expect(joined(bench.sent()) == [abc, other], "all is well again")
    }
}
