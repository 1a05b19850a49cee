import MachineCore
import ProtocolCore
import RoomCore
import Testing

@Suite struct ClientRenewalTests {
    private let abc = ClientBench.abc
    private let epoch = ClientBench.epoch
    private let other = RoomName("other")!

    private func publication(_ cseq: Int64, _ id: UInt64, void: Bool = false) -> Publication {
        Publication(cseq: cseq, id: .of(id), sent: ClientBench.noon, content: void ? nil : .text)
    }
    private func row(_ cseq: Int64, _ id: UInt64, _ state: OutboxRow.State = .queued, room: RoomName = ClientBench.abc) -> OutboxRow {
        OutboxRow(room: room, publication: publication(cseq, id), state: state)
    }
    private func stored(_ rows: OutboxRow..., next: Int64) -> StoredRoom {
        StoredRoom(cursor: LogPosition(epoch: epoch, seq: 10), first: 1, next: next, outbox: rows)
    }
    private let failure = OutboxFailure(code: .rights, text: "no")

    /// The voids that ask the hub which message it has under a number.
    private func probes(_ effects: [RoomsEffect]) -> [(cseq: Int64, id: MessageID)] {
        effects.compactMap {
            if case .send(.publish(_, let publication)) = $0, publication.content == nil { (publication.cseq, publication.id) } else { nil }
        }
    }
    private func renewal(_ bench: ClientBench) -> [OutboxRow]? {
        bench.commits.flatMap(\.changes).compactMap { if case .renew(_, let outbox) = $0 { outbox } else { nil } }.first
    }
    private func ack(_ cseq: Int64, _ id: MessageID?, seq: Int64 = 0) -> HubFrame {
        .acks(abc, epoch: epoch, [.init(cseq: cseq, seq: seq, at: 0, id: id, isDuplicate: true)])
    }
    /// A room with a stored outbox whose questions are not answered yet.
    private func asked(_ room: StoredRoom) -> ClientBench {
        var bench = ClientBench()
        bench.handle(.join(abc, JoinRequest()))
        bench.load(room)
        bench.open()
        bench.welcome()
        _ = bench.takeEffects()
        return bench
    }

    @Test func `a hub that has the next number shows that the store was restored: a client takes a new device, on disk before use`() {
        var bench = asked(stored(next: 3))
        bench.receive(.state(after: 10, high: 3))
        #expect(renewal(bench) == [])
        #expect(bench.machine.device != ClientBench.device)
        #expect(!bench.effects.contains(.reconnect(after: 0)))
        bench.write()
        #expect(bench.takeEffects().suffix(2) == [.news(.renewed(bench.machine.device!)), .reconnect(after: 0)])
        bench.handle(.lost)
        bench.open()
        guard case .hello(let hello) = bench.sent().last else {
            Issue.record("no hello")
            return
        }
        #expect(hello.device == bench.machine.device)
        #expect(hello.joins.map(\.next) == [1])
    }

    @Test func `a renewal removes messages that the hub has, renumbers those it lacks, and fails those it no longer remembers`() {
        var bench = asked(stored(row(3, 3), row(4, 4), row(5, 5), row(6, 6), next: 7))
        bench.receive(.state(after: 10, high: 7, highID: .of(70)))
        #expect(probes(bench.takeEffects()).map(\.cseq) == [3, 4, 5, 6])
        bench.receive(ack(3, .of(3), seq: 8), ack(4, .of(40), seq: 9), ack(5, nil), ack(6, .of(60), seq: 10))
        let changes = bench.commits.flatMap(\.changes)
        #expect(changes.prefix(2) == [.remove(abc, cseq: 3), .mark(abc, cseq: 5, .failed(.uncertain))])
        #expect(renewal(bench) == [row(1, 4), row(2, 5, .voiding(.uncertain)), row(3, 6)])
        bench.write()
        let news = bench.news()
        #expect(news.contains(.stored(abc, .of(3), LogPosition(epoch: epoch, seq: 8))))
        #expect(news.contains(.failed(abc, .of(5), .uncertain)))
        bench.handle(.lost)
        bench.open()
        bench.welcome()
        _ = bench.takeEffects()
        bench.receive(.state(after: 10))
        #expect(
            bench.sent().filter { if case .publish = $0 { true } else { false } } == [
                .publish(abc, publication(1, 4)), .publish(abc, publication(2, 5, void: true)), .publish(abc, publication(3, 6)),
            ])
    }

    @Test(arguments: [OutboxFailure.discarded, .expired, .tooLong])
    func `a message that was given up is uncertain when no one knows whether it was stored`(reason: OutboxFailure) {
        var bench = asked(stored(row(3, 3, .voiding(reason)), row(4, 4, .voiding(failure)), next: 5))
        bench.receive(.state(after: 10, high: 5, highID: .of(50)))
        #expect(probes(bench.takeEffects()).map(\.cseq) == [3, 4])
        bench.receive(.refusal(Refusal(.rights, room: abc, cseq: 3, "no")))
        #expect(renewal(bench) == [row(1, 3, .voiding(.uncertain)), row(2, 4, .voiding(failure))])
        bench.write()
        #expect(bench.news().contains(.failed(abc, .of(3), .uncertain)))
    }

    @Test func `a message with a known outcome does not hide that the hub lacks those behind it`() {
        // The one between was stored, and the hub has forgotten the device and started its numbers again since.
        var bench = asked(stored(row(3, 3), row(7, 7), row(8, 8), next: 9))
        bench.receive(.state(after: 10, high: 3, highID: .of(30)))
        #expect(renewal(bench) == [row(1, 3), row(2, 7), row(3, 8)])
    }

    @Test func `a void stored in place of the first missing message settles all messages behind it`() {
        var bench = asked(stored(row(3, 3), row(4, 4), row(5, 5), next: 6))
        bench.receive(.state(after: 10, high: 3, highID: .of(30)))
        let barrier = probes(bench.takeEffects())
        #expect(barrier.map(\.cseq) == [4, 5])
        bench.receive(ack(4, barrier[0].id))
        #expect(renewal(bench) == [row(1, 3), row(2, 4), row(3, 5)])
    }

    @Test func `a message that was in flight when the hub sent the state is found above its high mark`() {
        var bench = asked(stored(row(3, 3), row(4, 4), next: 5))
        bench.receive(.state(after: 10, high: 3, highID: .of(30)))
        bench.receive(ack(4, .of(4), seq: 11))
        #expect(renewal(bench) == [row(1, 3)])
    }

    @Test func `an ack or an entry of this device with another ID also starts a renewal`() {
        var bench = ClientBench.live(stored: stored(row(3, 3), next: 4))
        bench.receive(ack(3, .of(30), seq: 9))
        #expect(renewal(bench) == [row(1, 3)])
        bench = ClientBench.live(stored: stored(row(3, 3), next: 4))
        bench.receive(.entries(.of(11, own: 3, id: 30)))
        #expect(probes(bench.takeEffects()).map(\.cseq) == [3])
        bench = ClientBench.live(stored: stored(next: 4))
        bench.receive(.entries(.of(11, own: 4, id: 30)))
        #expect(renewal(bench) == [])
    }

    @Test func `a hub that has less than it acked shows a rewound log, which the client notices when it has messages to send`() {
        var bench = asked(stored(next: 5))
        bench.receive(.state(after: 10, high: 3))
        #expect(renewal(bench) == nil)
        bench.submit(1)
        bench.write()
        #expect(bench.news().contains(.renewed(bench.machine.device!)))
        bench = ClientBench.live(stored: stored(row(4, 4), next: 5))
        bench.receive(.hole(abc, expected: 3))
        #expect(renewal(bench) == [row(1, 4)])
    }

    @Test func `failed messages stay in the outbox, and their new numbers are voided`() {
        var bench = asked(stored(row(3, 3, .failed(failure)), row(4, 4), next: 5))
        bench.receive(.state(after: 10, high: 2))
        #expect(renewal(bench) == [row(1, 3, .voiding(failure)), row(2, 4)])
        bench.write()
        bench.handle(.lost)
        bench.open()
        bench.welcome()
        bench.receive(.state(after: 10))
        _ = bench.takeEffects()
        bench.receive(.ack(1, seq: 0, id: 3))
        #expect(bench.commits.map(\.changes) == [[.mark(abc, cseq: 1, .failed(failure))]])
        bench.write()
        #expect(bench.news() == [], "the app was told that it failed")
    }

    @Test func `the outboxes of all rooms in the store are renewed, without questions about rooms that are not wanted`() {
        var bench = ClientBench(waiting: [abc, other])
        bench.handle(.join(abc, JoinRequest()))
        bench.load(stored(next: 3))
        bench.open()
        bench.welcome()
        bench.receive(.state(after: 10, high: 3))
        #expect(bench.takeEffects().last == .load(other))
        bench.load(stored(row(4, 4, room: other), row(5, 5, .failed(failure), room: other), next: 6), other)
        #expect(renewal(bench) == [row(1, 4, .voiding(.uncertain), room: other), row(2, 5, .voiding(failure), room: other)])
        bench.write()
        #expect(bench.news().contains(.failed(other, .of(4), .uncertain)))
    }

    @Test func `rooms that are left or forgotten meanwhile do not delay the renewal`() {
        var bench = asked(stored(row(3, 3), next: 4))
        bench.receive(.state(after: 10, high: 5, highID: .of(50)))
        bench.handle(.leave(other), .forget(RoomName("third")!), .leave(abc))
        bench.write()
        #expect(renewal(bench) == nil)
        bench.load(StoredRoom(), RoomName("third")!)
        #expect(renewal(bench) == [row(1, 3, .voiding(.uncertain))])
    }

    @Test func `a message submitted during a renewal gets a number of the new device and is never sent under the old one`() {
        var bench = asked(stored(row(3, 3), next: 4))
        bench.receive(.state(after: 10, high: 5, highID: .of(50)))
        _ = bench.takeEffects()
        bench.submit(9)
        bench.write()
        #expect(bench.sent() == [])
        bench.receive(ack(3, .of(30), seq: 8))
        #expect(renewal(bench) == [row(1, 3), row(2, 9)])
    }

    @Test func `a message whose outcome stays unknown for 30 seconds fails, and is never sent twice`() {
        var bench = asked(stored(row(3, 3), next: 4))
        bench.receive(.state(after: 10, high: 5, highID: .of(50)))
        bench.pass(.seconds(29))
        #expect(renewal(bench) == nil)
        bench.pass(.seconds(1))
        #expect(renewal(bench) == [row(1, 3, .voiding(.uncertain))])
    }

    @Test func `time without a connection to the hub does not count`() {
        var bench = asked(stored(row(3, 3), next: 4))
        bench.receive(.state(after: 10, high: 5, highID: .of(50)))
        bench.handle(.lost)
        bench.pass(.seconds(600))
        #expect(renewal(bench) == nil)
        bench.open()
        bench.welcome()
        _ = bench.takeEffects()
        bench.receive(.state(after: 10, high: 5, highID: .of(50)))
        #expect(probes(bench.takeEffects()).map(\.cseq) == [3])
        bench.receive(ack(3, .of(3), seq: 8))
        #expect(renewal(bench) == [])
    }

    @Test func `a client does not use a new device that it could not write`() {
        var bench = asked(stored(next: 3))
        bench.receive(.state(after: 10, high: 3))
        bench.handle(.notCommitted(bench.machine.lastCommit, full: true))
        #expect(bench.machine.device == ClientBench.device)
        #expect(bench.takeEffects().last == .reconnect(after: 1000))
    }

    @Test func `on a connection that opens before the new device is on disk, hello waits for that`() {
        var bench = asked(stored(next: 3))
        bench.receive(.state(after: 10, high: 3))
        bench.handle(.lost)
        _ = bench.takeEffects()
        bench.open()
        #expect(bench.takeEffects() == [])
        bench.handle(.committed(bench.machine.lastCommit))
        guard case .hello(let hello) = bench.sent().last else {
            Issue.record("no hello")
            return
        }
        #expect(hello.device == bench.machine.device)
    }
}
