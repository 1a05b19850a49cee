import MachineCore
import RoomCore
import Testing

/// Only the hub decides that a message is too old.
///
/// It uses the log's time, which a wrong clock does not move.
struct ExpiryTests {
    private let abc = ClientBench.abc
    private let day: Int64 = 86_400_000

    @Test(arguments: [Int64(0), 100], [Int64(0), 100])
    func `a client sends old messages, whatever its clock says`(calendar: Int64, hub: Int64) {
        let publication = Publication(cseq: 1, id: .of(1), sent: ClientBench.noon, content: .text)
        var bench = ClientBench()
        bench.handle(.calendar(ClientBench.noon + calendar * day), .join(abc, JoinRequest()))
        bench.open()
        bench.welcome { $0.now = ClientBench.noon + hub * day }
        let row = OutboxRow(room: abc, publication: publication)
        bench.load(StoredRoom(cursor: LogPosition(epoch: ClientBench.epoch, seq: 10), next: 2, outbox: [row]))
        bench.receive(.state(after: 10))
        #expect(bench.commits.isEmpty)
        let sent = bench.sent().compactMap { if case .publish(_, let publication) = $0 { publication.id } else { nil } }
        #expect(sent == [publication.id])
    }

    @Test func `a message that the hub refuses as too old may have been stored before`() {
        var bench = ClientBench.live()
        bench.submit(1)
        bench.write()
        _ = bench.takeEffects()
        bench.receive(.refusal(Refusal(.tooOld, room: abc, cseq: 1, "issued too long ago")))
        #expect(bench.commits.last?.changes == [.mark(abc, cseq: 1, .voiding(.expired))])
    }
}
