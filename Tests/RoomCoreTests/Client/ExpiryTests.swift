import MachineCore
import RoomCore
import Testing

/// What waited so long that the hub may have forgotten it is given up; a clock that is wrong is no reason.
struct ExpiryTests {
    private let abc = ClientBench.abc
    private let day: Int64 = 86_400_000

    /// A client whose message was stored at noon, and which hears then what its calendar and the hub's clock say.
    private func bench(calendar: Int64, hub: Int64) -> ClientBench {
        let row = OutboxRow(room: abc, publication: Publication(cseq: 1, id: .of(1), sent: ClientBench.noon, content: .text))
        var bench = ClientBench()
        bench.handle(.calendar(ClientBench.noon + calendar), .join(abc, JoinWish()))
        bench.open()
        bench.welcome { $0.now = ClientBench.noon + hub }
        bench.load(StoredRoom(next: 2, outbox: [row]))
        return bench
    }

    @Test func `a single clock that is ahead, be it the hub's, makes nothing too old`() {
        #expect(bench(calendar: 0, hub: 100 * day).commits.isEmpty)
        #expect(bench(calendar: 100 * day, hub: 0).commits.isEmpty)
        let both = bench(calendar: 100 * day, hub: 100 * day).commits.map(\.changes)
        #expect(both == [[.mark(abc, cseq: 1, .burning(.expired))]])
    }

    @Test func `what the hub refuses as too old may have been stored before`() {
        var bench = ClientBench.live()
        bench.submit(1)
        bench.write()
        _ = bench.look()
        bench.receive(.refusal(Refusal(.tooOld, room: abc, cseq: 1, "issued too long ago")))
        #expect(bench.commits.last?.changes == [.mark(abc, cseq: 1, .burning(.expired))])
    }
}
