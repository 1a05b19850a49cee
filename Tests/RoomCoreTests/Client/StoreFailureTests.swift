import MachineCore
import ProtocolCore
import RoomCore
import Testing

@Suite struct ClientStoreFailureTests {
    private let abc = ClientBench.abc
    private let epoch = ClientBench.epoch

    @Test func `after a failed transaction all later ones are dropped, and the room is loaded and joined again`() {
        var bench = ClientBench.live()
        bench.submit(1)
        let failed = bench.machine.lastCommit
        bench.receive(.entries(.of(11)))
        _ = bench.takeEffects()
        bench.handle(.notCommitted(failed, full: true))
        #expect(
            bench.takeEffects() == [
                .news(.refused(abc, .of(1), .store(full: true))), .news(.storeFailed(full: true)), .news(.phase(abc, .loading)),
            ])
        bench.handle(.notCommitted(failed + 1, full: true))
        #expect(bench.takeEffects() == [])
        bench.submit(2)
        #expect(bench.takeEffects() == [.news(.refused(abc, .of(2), .store(full: true)))])
        bench.pass(.seconds(1))
        #expect(bench.takeEffects() == [.load(abc)])
        bench.load(StoredRoom(cursor: LogPosition(epoch: epoch, seq: 10), first: 1))
        guard case .send(.join(let join)) = bench.takeEffects().last else {
            Issue.record("not joined")
            return
        }
        #expect(join.cursor == LogPosition(epoch: epoch, seq: 10))
        #expect(join.next == 1, "the number of the refused message is used again")
    }

    @Test func `committed changes are reported even if the next transaction fails`() {
        var bench = ClientBench.live()
        bench.submit(1, 2)
        let second = bench.machine.lastCommit
        _ = bench.takeEffects()
        bench.handle(.committed(second - 1), .notCommitted(second, full: false))
        let news = bench.news()
        #expect(news.first == .queued(abc, .of(1), cseq: 1))
        #expect(news.contains(.refused(abc, .of(2), .store(full: false))))
    }

    @Test func `a client asks a failing store at growing intervals of up to 30 seconds`() {
        var bench = ClientBench()
        bench.handle(.join(abc, JoinRequest()))
        var waits: [Duration] = []
        for _ in 0..<7 {
            _ = bench.takeEffects()
            bench.handle(.notLoaded(abc))
            let start = bench.now
            while !bench.effects.contains(.load(abc)) { bench.pass(.milliseconds(500)) }
            waits.append(bench.now - start)
        }
        #expect(waits == [1, 2, 4, 8, 16, 30, 30].map { .seconds($0) })
    }

    @Test func `a room that could not be loaded does not affect other rooms`() {
        var bench = ClientBench.live()
        let other = RoomName("other")!
        bench.handle(.join(other, JoinRequest()), .notLoaded(other))
        bench.submit(1)
        bench.write()
        #expect(bench.sent().count == 1)
    }
}
