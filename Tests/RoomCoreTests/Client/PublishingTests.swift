import MachineCore
import ProtocolCore
import RoomCore
import Testing

@Suite struct ClientPublishingTests {
    private let abc = ClientBench.abc
    private let epoch = ClientBench.epoch

    private func publication(_ cseq: Int64, _ id: UInt64, void: Bool = false) -> ClientFrame {
        .publish(abc, Publication(cseq: cseq, id: .of(id), sent: ClientBench.noon, content: void ? nil : .text))
    }
    private func row(_ cseq: Int64, _ id: UInt64, _ state: OutboxRow.State = .queued, sent: Int64 = ClientBench.noon) -> OutboxRow {
        OutboxRow(room: abc, publication: Publication(cseq: cseq, id: .of(id), sent: sent, content: .text), state: state)
    }
    private func stored(_ rows: OutboxRow..., next: Int64) -> StoredRoom {
        StoredRoom(cursor: LogPosition(epoch: epoch, seq: 10), first: 1, next: next, outbox: rows)
    }
    private func refusal(_ cseq: Int64, _ code: Refusal.Code = .rights, _ retry: Refusal.Retry = .never) -> HubFrame {
        .refusal(Refusal(code, retry: retry, room: abc, cseq: cseq, "no"))
    }
    private let failure = OutboxFailure(code: .rights, text: "no")

    // MARK: Queueing

    @Test func `a message is reported as queued and sent only when it is on disk`() {
        var bench = ClientBench.live()
        bench.submit(1)
        #expect(bench.takeEffects() == [.commit(bench.machine.lastCommit, [.queue(row(1, 1))])])
        bench.handle(.committed(bench.machine.lastCommit))
        #expect(bench.takeEffects() == [.news(.queued(abc, .of(1), cseq: 1)), .send(publication(1, 1)), .news(.sent(abc, .of(1)))])
    }

    @Test func `messages get numbers in order, which continue those in the store`() {
        var bench = ClientBench.live(stored: stored(next: 8))
        bench.submit(1, 2)
        bench.write()
        #expect(bench.sent() == [publication(8, 1), publication(9, 2)])
    }

    @Test func `nothing is sent before the room has its first state`() {
        var bench = ClientBench()
        bench.handle(.join(abc, JoinRequest()))
        bench.load(stored(next: 1))
        bench.submit(1)
        bench.open()
        bench.welcome()
        bench.write()
        #expect(!bench.sent().contains(publication(1, 1)))
        bench.receive(.state(after: 10))
        #expect(bench.sent().last == publication(1, 1))
    }

    @Test func `a message submitted while the room is loaded gets its number afterwards`() {
        var bench = ClientBench()
        bench.handle(.join(abc, JoinRequest()))
        bench.submit(1)
        #expect(bench.commits.isEmpty)
        bench.load(stored(row(4, 9), next: 5))
        #expect(bench.commits.map(\.changes) == [[.queue(row(5, 1))]])
    }

    @Test func `a message that is pending already is not queued again`() {
        var bench = ClientBench.live()
        bench.submit(1)
        bench.write()
        _ = bench.takeEffects()
        bench.submit(1)
        #expect(bench.takeEffects() == [.news(.queued(abc, .of(1), cseq: 1))])
    }

    @Test func `a room that is not joined refuses messages`() {
        var bench = ClientBench()
        bench.submit(1)
        #expect(bench.news() == [.refused(abc, .of(1), .notJoined)])
        var left = ClientBench.live()
        left.handle(.leave(abc))
        _ = left.takeEffects()
        left.submit(1)
        #expect(left.news() == [.refused(abc, .of(1), .notJoined)])
    }

    @Test func `an outbox that is full by count or bytes refuses messages, also while it is loaded`() {
        var policy = RoomsPolicy()
        policy.outboxCount = 2
        var bench = ClientBench.live(policy: policy)
        bench.submit(1, 2, 3)
        #expect(bench.news().last == .refused(abc, .of(3), .tooMany(2)))
        policy.outboxCount = 100
        policy.outboxBytes = 200
        bench = ClientBench.live(policy: policy)
        bench.submit(1, 2, 3)
        #expect(bench.news().last == .refused(abc, .of(3), .tooMuch(bytes: 200)))
        policy.outboxCount = 1
        bench = ClientBench(policy: policy)
        bench.handle(.join(abc, JoinRequest()))
        bench.submit(1, 2)
        #expect(bench.news().last == .refused(abc, .of(2), .tooMany(1)))
    }

    @Test(arguments: [
        Publication.Content(type: "", payload: .json([0x31])),
        Publication.Content(type: String(repeating: "t", count: 65), payload: .json([0x31])),
        Publication.Content(type: "t", payload: .binary([UInt8](repeating: 0, count: 65_537))),
        Publication.Content(type: "t", about: Reference(kind: "", seq: 1), payload: .json([0x31])),
        Publication.Content(type: "t", about: Reference(kind: "edit", seq: 0), payload: .json([0x31])),
    ])
    func `a client refuses content that no hub accepts at once`(content: Publication.Content) {
        var bench = ClientBench.live()
        bench.handle(.submit(abc, .of(1), sent: 0, content))
        #expect(bench.takeEffects() == [.news(.refused(abc, .of(1), .tooLong))])
    }

    @Test func `a client refuses a message that is too long for this hub's frames at once`() {
        let bytes = [UInt8](repeating: 0x31, count: 3000)
        for (payload, length) in [(Payload.json(bytes), Int64(3000)), (.binary(bytes), 4000)] {
            let content = Publication.Content(type: "t", payload: payload)
            for (limit, isTaken) in [(length, false), (length + 512, true)] {
                var bench = ClientBench()
                bench.handle(.join(abc, JoinRequest()))
                bench.load(stored(next: 1))
                bench.open()
                bench.welcome { $0.limits.frame = limit }
                bench.handle(.submit(abc, .of(1), sent: 0, content))
                #expect(bench.takeEffects().contains(.news(.refused(abc, .of(1), .tooLong))) != isTaken)
                let publication = Publication(cseq: 1 << 52, id: .of(1), sent: 1 << 52, content: content)
                #expect(!isTaken || ClientFrame.publish(abc, publication).json().count <= limit)
            }
        }
    }

    @Test func `a message queued before the hub's limits were known is voided if no frame can hold it`() {
        let long = Publication.Content(type: "t", payload: .json([UInt8](repeating: 0x31, count: 3000)))
        let rows = [OutboxRow(room: abc, publication: Publication(cseq: 1, id: .of(1), sent: ClientBench.noon, content: long)), row(2, 2)]
        var bench = ClientBench()
        bench.handle(.join(abc, JoinRequest()))
        bench.load(stored(rows[0], rows[1], next: 3))
        bench.open()
        bench.welcome { $0.limits.frame = 3000 }
        bench.receive(.state(after: 10))
        #expect(bench.commits.map(\.changes) == [[.mark(abc, cseq: 1, .voiding(.tooLong))]])
        bench.write()
        let void = publication(1, 1, void: true)
        #expect(bench.takeEffects().suffix(3) == [.send(void), .send(publication(2, 2)), .news(.sent(abc, .of(2)))])
        // The hub may have stored it under an earlier limit. Only the ack tells.
        let stored = RoomsNews.stored(abc, .of(1), LogPosition(epoch: epoch, seq: 5))
        for (seq, news) in [(Int64(0), .failed(abc, .of(1), .tooLong)), (5, stored)] {
            var bench = bench
            bench.receive(.ack(1, seq: seq, id: 1))
            bench.write()
            #expect(bench.news() == [news])
        }
    }

    @Test(arguments: [
        "", "{", "1 2", #""\uD800""#, #"{"\uDC00\uD800":1}"#, "[1e999]", "-1e309",
        String(repeating: "[", count: 65) + String(repeating: "]", count: 65),
    ])
    func `a client refuses a payload that other clients cannot read at once`(json: String) {
        var bench = ClientBench.live()
        bench.handle(.submit(abc, .of(1), sent: 0, .init(type: "t", payload: .json(Array(json.utf8)))))
        #expect(bench.takeEffects() == [.news(.refused(abc, .of(1), .notJSON))])
    }

    @Test func `a client voids a message that the hub cannot read, and sends those behind it`() {
        var bench = ClientBench.live()
        bench.submit(1, 2)
        bench.write()
        _ = bench.takeEffects()
        let refusal = Refusal(.malformed, room: abc, cseq: 1, "body: values are nested too deeply")
        bench.receive(.refusal(refusal), .hole(abc, expected: 1))
        bench.write()
        let said = bench.takeEffects()
        #expect(said.contains(.news(.failed(abc, .of(1), OutboxFailure(code: .malformed, text: refusal.text)))))
        let sent = said.compactMap { if case .send(.publish(_, let publication)) = $0 { publication } else { nil } }
        #expect(sent.suffix(2).map(\.cseq) == [1, 2] && sent.suffix(2).first?.content == nil && sent.last?.content != nil)
    }

    @Test func `message times are in the hub's clock, also for messages submitted before that clock was known`() {
        var bench = ClientBench()
        bench.handle(.join(abc, JoinRequest()))
        bench.load(stored(next: 1))
        bench.submit(1)
        bench.open()
        bench.welcome { $0.now = ClientBench.noon - 7_200_000 }
        bench.receive(.state(after: 10))
        bench.write()
        bench.submit(2)
        bench.write()
        let times = bench.sent().compactMap { if case .publish(_, let publication) = $0 { publication.sent } else { nil } }
        #expect(times == [ClientBench.noon - 7_200_000, ClientBench.noon - 7_200_000])
    }

    // MARK: Flow control

    @Test func `no more messages than the window of the room and the connection are without an ack`() {
        var bench = ClientBench.live()
        for number in 1...40 { bench.submit(UInt64(number)) }
        bench.write()
        #expect(bench.sent() == (1...32).map { publication(Int64($0), UInt64($0)) })
        bench.receive(.ack(1, seq: 11, id: 1))
        #expect(bench.sent() == [publication(33, 33)])
    }

    @Test func `when the connection's window opens, rooms that waited continue`() {
        var bench = ClientBench()
        let other = RoomName("other")!
        bench.handle(.join(abc, JoinRequest()), .join(other, JoinRequest()))
        bench.load(stored(next: 1))
        bench.load(stored(next: 1), other)
        bench.open()
        bench.welcome { $0.limits.window = 2 }
        bench.receive(.state(after: 10), .state(after: 10, room: other))
        bench.submit(1, 2)
        bench.submit(3, to: other)
        bench.write()
        #expect(bench.sent().suffix(2) == [publication(1, 1), publication(2, 2)])
        bench.receive(.ack(1, seq: 11, id: 1))
        #expect(
            bench.sent() == [.publish(other, Publication(cseq: 1, id: .of(3), sent: ClientBench.noon, content: .text))])
    }

    // MARK: Proof of storage

    @Test func `an ack with the message's ID removes it from the outbox, and its position is reported when that is on disk`() {
        var bench = ClientBench.live()
        bench.submit(1)
        bench.write()
        _ = bench.takeEffects()
        bench.receive(.ack(1, seq: 11, id: 1))
        #expect(bench.takeEffects() == [.commit(bench.machine.lastCommit, [.remove(abc, cseq: 1)])])
        bench.handle(.committed(bench.machine.lastCommit))
        #expect(bench.news() == [.stored(abc, .of(1), LogPosition(epoch: epoch, seq: 11))])
    }

    @Test func `a message's own entry removes it in the same transaction, and its later ack has no effect`() {
        var bench = ClientBench.live()
        bench.submit(1)
        bench.write()
        _ = bench.takeEffects()
        bench.receive(.entries(.of(11, own: 1, id: 1)))
        let entry = Entry.of(11, own: 1, id: 1)
        #expect(bench.commits.map(\.changes) == [[.append(abc, epoch: epoch, [entry]), .remove(abc, cseq: 1)]])
        bench.write()
        #expect(
            bench.news() == [.appended(abc, epoch: epoch, [entry]), .stored(abc, .of(1), LogPosition(epoch: epoch, seq: 11))])
        bench.receive(.ack(1, seq: 11, id: 1))
        #expect(bench.takeEffects() == [])
    }

    @Test func `a number that the hub has without an ID or position makes the message uncertain, and it is not sent again`() {
        for (id, seq) in [(UInt64?.none, Int64(0)), (.none, 11), (1, 0)] {
            var bench = ClientBench.live(stored: stored(row(1, 1), next: 2), high: 1)
            bench.receive(.ack(1, seq: seq, id: id, dup: true))
            #expect(bench.commits.last?.changes == [.mark(abc, cseq: 1, .failed(.uncertain))])
            bench.write()
            #expect(bench.news() == [.failed(abc, .of(1), .uncertain)])
            bench.pass(.seconds(60))
            #expect(bench.sent() == [])
        }
    }

    @Test func `the entry of a message that may have been stored proves it later`() {
        var bench = ClientBench.live(stored: stored(row(1, 1, .failed(.uncertain)), next: 2), high: 1)
        bench.receive(.entries(.of(11, id: 1, user: ClientBench.bob)))
        #expect(bench.commits.last?.changes.count == 1, "another user's message of that name is another message")
        bench.receive(.entries(.of(12, id: 1, user: ClientBench.ann)))
        #expect(bench.commits.last?.changes.last == .remove(abc, cseq: 1))
    }

    // MARK: Sending again

    @Test func `without an ack for ten seconds a client sends everything again from the oldest message`() {
        var bench = ClientBench.live()
        bench.submit(1, 2)
        bench.write()
        bench.receive(.ack(1, seq: 11, id: 1))
        _ = bench.takeEffects()
        bench.submit(3)
        bench.write()
        _ = bench.takeEffects()
        bench.pass(.milliseconds(9999))
        #expect(bench.takeEffects() == [])
        bench.pass(.milliseconds(1))
        #expect(bench.takeEffects() == [.send(publication(2, 2)), .send(publication(3, 3))])
    }

    @Test func `a client leaves a hub that gives no answer to repeated sends`() {
        var bench = ClientBench.live()
        bench.submit(1)
        bench.write()
        _ = bench.takeEffects()
        bench.pass(.seconds(40))
        let again = [RoomsEffect](repeating: .send(publication(1, 1)), count: 3)
        #expect(bench.takeEffects() == again + [.news(.phase(abc, .waiting)), .end(.rejected("publications are not acked"))])
    }

    @Test func `after a hole a client sends everything from the missing number again`() {
        var bench = ClientBench.live()
        bench.submit(1, 2, 3)
        bench.write()
        _ = bench.takeEffects()
        bench.receive(.hole(abc, expected: 2))
        #expect(bench.takeEffects() == [.send(publication(2, 2)), .send(publication(3, 3))])
    }

    @Test func `a client waits longer each time the hub reports the same hole`() {
        var bench = ClientBench.live()
        bench.submit(1, 2)
        bench.write()
        bench.receive(.hole(abc, expected: 1))
        let window = [publication(1, 1), publication(2, 2)]
        #expect(bench.sent().suffix(2) == window)
        for pause in [100, 200, 400, 800, 1600, 3200, 6400] {
            // However often the hub reports the hole meanwhile.
            for _ in 0..<10 { bench.receive(.hole(abc, expected: 1)) }
            bench.pass(.milliseconds(pause - 1))
            #expect(bench.sent() == [])
            bench.pass(.milliseconds(1))
            #expect(bench.sent() == window)
        }
    }

    @Test func `a client sends again at once when the hub made progress and reports a later hole`() {
        var bench = ClientBench.live()
        bench.submit(1, 2, 3)
        bench.write()
        bench.receive(.hole(abc, expected: 1), .hole(abc, expected: 2))
        #expect(bench.sent().suffix(2) == [publication(2, 2), publication(3, 3)])
        bench.receive(.ack(2, seq: 11, id: 2))
        bench.receive(.hole(abc, expected: 1))
        #expect(bench.sent() == [publication(1, 1), publication(3, 3)])
    }

    @Test func `after a reconnect a client sends everything again from the oldest message, with the same numbers and IDs`() {
        var bench = ClientBench.live()
        bench.submit(1, 2)
        bench.write()
        bench.handle(.lost)
        bench.open()
        bench.welcome()
        _ = bench.takeEffects()
        bench.receive(.state(after: 10, high: 1, highID: .of(1)))
        #expect(bench.sent().suffix(2) == [publication(1, 1), publication(2, 2)])
    }

    @Test func `a client sends a publication refused for now again at the retry time, with all behind it`() {
        var bench = ClientBench.live()
        bench.submit(1, 2)
        bench.write()
        _ = bench.takeEffects()
        bench.receive(refusal(1, .storage, .after(1500)), refusal(2, .storage, .after(1500)))
        bench.pass(.milliseconds(1499))
        #expect(bench.takeEffects() == [])
        bench.pass(.milliseconds(1))
        #expect(bench.takeEffects() == [.send(publication(1, 1)), .send(publication(2, 2))])
    }

    @Test func `a publication that is too new for the hub's clock is kept and gets a time in that clock when it is known`() {
        var bench = ClientBench.live()
        bench.submit(1)
        bench.write()
        _ = bench.takeEffects()
        // The hub's clock was a day ahead when the client last asked it.
        bench.receive(refusal(1, .tooNew, .after(82_800_000)))
        #expect(bench.takeEffects() == [.send(.ping(0))])
        bench.receive(.pong(0, now: ClientBench.noon - 86_400_000))
        bench.pass(.seconds(10))
        let sent = ClientBench.noon - 86_400_000 + 10_000
        #expect(bench.takeEffects() == [.send(.publish(abc, Publication(cseq: 1, id: .of(1), sent: sent, content: .text)))])
    }

    // MARK: Failing

    @Test func `a message refused for good is replaced by a void when that is on disk, and is marked as failed`() {
        var bench = ClientBench.live()
        bench.submit(1, 2)
        bench.write()
        _ = bench.takeEffects()
        bench.receive(refusal(1), .hole(abc, expected: 1))
        #expect(bench.takeEffects() == [.commit(bench.machine.lastCommit, [.mark(abc, cseq: 1, .voiding(failure))])])
        bench.handle(.committed(bench.machine.lastCommit))
        #expect(
            bench.takeEffects() == [.news(.failed(abc, .of(1), failure)), .send(publication(1, 1, void: true)), .send(publication(2, 2))])
        bench.receive(.ack(1, seq: 0, id: 1))
        #expect(bench.takeEffects() == [.commit(bench.machine.lastCommit, [.mark(abc, cseq: 1, .failed(failure))])])
        bench.receive(.ack(2, seq: 11, id: 2))
        #expect(bench.commits.last?.changes == [.remove(abc, cseq: 2)])
    }

    @Test func `a second refusal of the same message does not stop its voiding`() {
        var bench = ClientBench.live()
        bench.submit(1)
        bench.write()
        bench.receive(refusal(1))
        bench.write()
        _ = bench.takeEffects()
        bench.receive(refusal(1))
        #expect(bench.takeEffects() == [])
        bench.receive(.ack(1, seq: 0, id: 1))
        #expect(bench.commits.last?.changes == [.mark(abc, cseq: 1, .failed(failure))])
    }

    @Test func `a failed message that is retried keeps its ID and gets a new number`() {
        var bench = ClientBench.live(stored: stored(row(1, 1, .failed(failure)), next: 2), high: 1)
        bench.handle(.retry(abc, .of(1)))
        #expect(bench.commits.last?.changes == [.remove(abc, cseq: 1), .queue(row(2, 1))])
        bench.write()
        #expect(
            bench.takeEffects().suffix(3)
                == [.news(.queued(abc, .of(1), cseq: 2)), .send(publication(2, 1)), .news(.sent(abc, .of(1)))])
    }

    @Test func `a retry of a message that is being voided waits for the end of the voiding`() {
        var bench = ClientBench.live(stored: stored(row(1, 1, .voiding(failure)), next: 2), high: 0)
        bench.handle(.retry(abc, .of(1)))
        #expect(bench.commits.isEmpty)
        bench.receive(.ack(1, seq: 0, id: 1))
        #expect(bench.commits.map(\.changes) == [[.mark(abc, cseq: 1, .failed(failure))], [.remove(abc, cseq: 1), .queue(row(2, 1))]])
    }

    @Test func `a message that is retried and then discarded while it is voided is not sent`() {
        var bench = ClientBench.live(stored: stored(row(1, 1, .voiding(failure)), next: 2), high: 0)
        bench.handle(.retry(abc, .of(1)), .discard(abc, .of(1)))
        bench.receive(.ack(1, seq: 0, id: 1))
        bench.write()
        #expect(bench.news().last == .discarded(abc, .of(1)))
    }

    @Test func `a failed message that is submitted again is reported as failed`() {
        var bench = ClientBench.live(stored: stored(row(1, 1, .failed(failure)), next: 2), high: 1)
        bench.submit(1)
        #expect(bench.takeEffects() == [.news(.failed(abc, .of(1), failure))])
    }

    @Test func `a failed message that is discarded leaves the outbox`() {
        var bench = ClientBench.live(stored: stored(row(1, 1, .failed(failure)), next: 2), high: 1)
        bench.handle(.discard(abc, .of(1)))
        #expect(bench.commits.last?.changes == [.remove(abc, cseq: 1)])
        bench.write()
        #expect(bench.news() == [.discarded(abc, .of(1))])
    }

    @Test func `a message that is discarded while it is sent is voided, or stored if the hub had it already`() {
        for (seq, news) in [
            (Int64(0), RoomsNews.discarded(abc, .of(1))), (11, .stored(abc, .of(1), LogPosition(epoch: epoch, seq: 11))),
        ] {
            var bench = ClientBench.live()
            bench.submit(1)
            bench.write()
            _ = bench.takeEffects()
            bench.handle(.discard(abc, .of(1)))
            #expect(bench.commits.last?.changes == [.mark(abc, cseq: 1, .voiding(.discarded))])
            bench.write()
            #expect(bench.sent() == [publication(1, 1, void: true)])
            bench.receive(.ack(1, seq: seq, id: 1))
            #expect(bench.commits.last?.changes == [.remove(abc, cseq: 1)])
            bench.write()
            #expect(bench.news() == [news])
        }
    }

    @Test(arguments: [OutboxFailure.expired, .tooLong, .discarded])
    func `a message that was given up but had been stored is reported as stored`(failure: OutboxFailure) {
        var bench = ClientBench.live(stored: stored(row(1, 1, .voiding(failure)), next: 2), high: 1)
        bench.receive(.ack(1, seq: 5, id: 1, dup: true))
        #expect(bench.commits.last?.changes == [.remove(abc, cseq: 1)])
        bench.write()
        #expect(bench.news() == [.stored(abc, .of(1), LogPosition(epoch: epoch, seq: 5))])
    }

    @Test(arguments: [OutboxFailure.expired, .tooLong, .discarded])
    func `a given-up message is uncertain if the log may have had it and has lost entries since`(failure: OutboxFailure) {
        var bench = ClientBench.live(stored: stored(row(1, 1, .voiding(failure)), next: 2), high: 1, base: 2)
        bench.receive(.ack(1, seq: 0, id: nil, dup: true))
        #expect(bench.commits.last?.changes == [.mark(abc, cseq: 1, .failed(.uncertain))])
        // The hub remembers the ID of a device's last message even when the entry is gone.
        bench = ClientBench.live(stored: stored(row(1, 1, .voiding(failure)), next: 2), high: 1, base: 2)
        bench.receive(.ack(1, seq: 0, id: 1, dup: true))
        #expect(bench.commits.last?.changes == [.mark(abc, cseq: 1, .failed(.uncertain))])
        bench = ClientBench.live(stored: stored(row(1, 1, .voiding(failure)), next: 2), high: 1, base: 1)
        bench.receive(.ack(1, seq: 0, id: nil, dup: true))
        let change = failure == .discarded ? StoreChange.remove(abc, cseq: 1) : .mark(abc, cseq: 1, .failed(failure))
        #expect(bench.commits.last?.changes == [change])
    }
}
