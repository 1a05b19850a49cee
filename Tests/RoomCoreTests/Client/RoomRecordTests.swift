import RoomCore
import Testing

/// What an app sees of a room.
@Suite final class RoomRecordTests {
    private static let abc = ClientBench.abc
    private static let epoch = ClientBench.epoch
    private static let failure = OutboxFailure(code: .rights, text: "no")
    private var record = RoomRecord(user: ClientBench.ann)

    init() { record.load(StoredRoom(cursor: Self.at(10), first: 1)) }

    private static func at(_ seq: Int64, epoch: UInt64 = epoch) -> LogPosition { LogPosition(epoch: epoch, seq: seq) }
    private func submit(_ number: UInt64) {
        record.submit(.of(number), sent: 0, .text)
        let isFollowed = record.follow(.of(number), as: number)
        #expect(isFollowed)
    }
    private func retry(_ number: UInt64) -> Bool {
        defer { record.retry(.of(number)) }
        return record.mayRetry(.of(number))
    }
    private func takeChanged() -> [UInt64] { record.takeChanged() }
    private func markRead(upTo seq: Int64) -> Bool { record.markRead(upTo: seq) }
    private func skip(after seq: Int64, to first: Int64) -> RoomUpdate? { record.skip(1, after: seq, to: first, generation: 1) }
    private func handle(_ news: RoomsNews...) { for news in news { record.handle(news) } }
    private func append(_ seqs: ClosedRange<Int64>) { handle(.appended(Self.abc, epoch: Self.epoch, seqs.map { Entry.of($0) })) }
    private func row(_ number: UInt64, _ state: OutboxRow.State = .queued) -> OutboxRow {
        OutboxRow(room: Self.abc, publication: Publication(cseq: Int64(number), id: .of(number), sent: 0, content: .text), state: state)
    }
    private var outbox: [DeliveryStage] { record.status.outbox.map(\.stage) }
    /// The entries that a reader takes until it has to wait or to read from the store.
    private func take(_ reader: UInt64 = 1) -> (seqs: [Int64], next: RoomRecord.Step?) {
        var seqs: [Int64] = []
        while true {
            let step = record.step(reader)
            guard case .update(.entry(let entry))? = step else { return (seqs, step) }
            seqs.append(entry.seq)
        }
    }

    // MARK: The outbox

    @Test func `a message goes from queued to sent to stored, and leaves the outbox when its entry arrives`() {
        submit(1)
        #expect(outbox == [.submitted] && record.stage(for: 1) == .submitted)
        handle(.queued(Self.abc, .of(1), cseq: 1))
        #expect(outbox == [.queued])
        handle(.sent(Self.abc, .of(1)))
        #expect(outbox == [.sent] && takeChanged() == [1, 1])
        handle(.stored(Self.abc, .of(1), Self.at(11)))
        #expect(outbox == [.stored(Self.at(11))])
        append(11...11)
        #expect(outbox.isEmpty && record.stage(for: 1) == .stored(Self.at(11)))
    }

    @Test func `a message whose entry is already here leaves the outbox at once, as does one of an earlier log`() {
        submit(1)
        submit(2)
        handle(.stored(Self.abc, .of(1), Self.at(10)), .stored(Self.abc, .of(2), Self.at(90, epoch: 7)))
        #expect(outbox.isEmpty)
        #expect(record.stage(for: 2) == .stored(Self.at(90, epoch: 7)))
    }

    @Test func `a duplicate send does not undo the known state of a message`() {
        submit(1)
        handle(.stored(Self.abc, .of(1), Self.at(11)), .sent(Self.abc, .of(1)))
        #expect(outbox == [.stored(Self.at(11))] && record.stage(for: 1) == .stored(Self.at(11)))
    }

    @Test func `a message that is not accepted disappears, and its followers get the reason`() {
        submit(1)
        handle(.refused(Self.abc, .of(1), .tooMany(3)))
        #expect(outbox.isEmpty && record.refusal(for: 1) == .tooMany(3) && takeChanged() == [1])
        // When it is submitted again it is a message like any other.
        record.submit(.of(1), sent: 0, .text)
        #expect(record.follower(of: .of(1)) == nil && record.refusal(for: 1) == .tooMany(3))
        handle(.queued(Self.abc, .of(1), cseq: 1))
        #expect(outbox == [.queued] && record.stage(for: 1) == .submitted)
    }

    @Test func `a refusal of a duplicate does not remove the message from the outbox`() {
        submit(1)
        handle(.queued(Self.abc, .of(1), cseq: 1), .refused(Self.abc, .of(1), .tooMany(3)))
        #expect(outbox == [.queued] && record.refusal(for: 1) == nil)
    }

    @Test func `a failed message whose retry is refused stays failed`() {
        submit(1)
        handle(.failed(Self.abc, .of(1), Self.failure))
        #expect(retry(1) && outbox == [.submitted] && record.stage(for: 1) == .submitted)
        handle(.refused(Self.abc, .of(1), .store(full: true)))
        #expect(outbox == [.failed(Self.failure)] && record.stage(for: 1) == .failed(Self.failure))
        #expect(!retry(2))
    }

    @Test func `a message can be discarded only until it is stored`() {
        submit(1)
        #expect(record.mayDiscard(.of(1)) && !record.mayDiscard(.of(2)))
        handle(.stored(Self.abc, .of(1), Self.at(11)))
        #expect(!record.mayDiscard(.of(1)))
        submit(3)
        handle(.discarded(Self.abc, .of(3)))
        #expect(outbox == [.stored(Self.at(11))] && record.stage(for: 3) == .discarded)
    }

    @Test func `stored messages come before messages submitted while the store was read`() {
        submit(1)
        submit(2)
        record.load(StoredRoom(cursor: Self.at(10), outbox: [row(5, .failed(Self.failure)), row(1), row(6, .voiding(Self.failure))]))
        #expect(record.status.outbox.map(\.id) == [.of(5), .of(1), .of(6), .of(2)])
        #expect(outbox == [.failed(Self.failure), .queued, .failed(Self.failure), .submitted])
        #expect(record.stage(for: 1) == .queued && record.stage(for: 2) == .submitted && takeChanged() == [1])
    }

    @Test func `a sent message is not shown as queued again when the room is loaded again`() {
        submit(1)
        handle(.queued(Self.abc, .of(1), cseq: 1), .sent(Self.abc, .of(1)))
        record.load(StoredRoom(cursor: Self.at(10), outbox: [row(1)]))
        #expect(outbox == [.sent])
    }

    @Test func `a failed message that is retried moves behind later messages`() {
        for number in 1...3 as ClosedRange<UInt64> {
            submit(number)
            handle(.queued(Self.abc, .of(number), cseq: 10 + Int64(number)))
        }
        submit(4)
        handle(.failed(Self.abc, .of(2), Self.failure))
        #expect(retry(2) && record.status.outbox.map(\.id) == [.of(1), .of(2), .of(3), .of(4)])
        handle(.queued(Self.abc, .of(2), cseq: 14))
        #expect(record.status.outbox.map(\.id) == [.of(1), .of(3), .of(2), .of(4)])
        // A new device numbers all messages again from 1.
        handle(.renewed(ClientBench.device), .queued(Self.abc, .of(4), cseq: 4))
        #expect(record.status.outbox.map(\.id) == [.of(1), .of(3), .of(2), .of(4)])
    }

    @Test func `at the end an unwritten message is dropped, and an unwritten retry stays failed`() {
        submit(1)
        submit(2)
        submit(3)
        handle(.queued(Self.abc, .of(1), cseq: 1), .failed(Self.abc, .of(1), Self.failure), .queued(Self.abc, .of(3), cseq: 3))
        #expect(retry(1))
        record.settle()
        #expect(outbox == [.failed(Self.failure), .queued])
        #expect(record.refusal(for: 2) == .closed && record.refusal(for: 1) == nil)
    }

    // MARK: Read markers

    @Test func `others whose read marker passed a message have seen it, and the own user has not`() {
        submit(1)
        handle(.stored(Self.abc, .of(1), Self.at(11)))
        append(11...12)
        handle(.read(Self.abc, ClientBench.bob, upTo: 10), .read(Self.abc, ClientBench.ann, upTo: 12))
        #expect(record.stage(for: 1) == .stored(Self.at(11)) && record.status.read == 12)
        handle(.read(Self.abc, ClientBench.bob, upTo: 11))
        #expect(record.stage(for: 1) == .seen(Self.at(11), by: [ClientBench.bob]))
        // A marker never moves back.
        handle(.read(Self.abc, ClientBench.bob, upTo: 3))
        #expect(record.status.reads[ClientBench.bob] == 11)
    }

    @Test func `a message stored below the read marker of another user is seen at once`() {
        submit(1)
        handle(.read(Self.abc, ClientBench.bob, upTo: 10), .stored(Self.abc, .of(1), Self.at(10)))
        #expect(record.stage(for: 1) == .seen(Self.at(10), by: [ClientBench.bob]))
    }

    @Test func `the own marker never passes the last entry and never moves back`() {
        #expect(!markRead(upTo: 11))
        #expect(markRead(upTo: 10) && record.status.read == 10)
        #expect(!markRead(upTo: 10) && !markRead(upTo: 4))
    }

    @Test(arguments: [9, ClientBench.epoch])
    func `after a new epoch or a log that went back, read markers are unknown`(epoch: UInt64) {
        handle(.read(Self.abc, ClientBench.bob, upTo: 10), .read(Self.abc, ClientBench.ann, upTo: 10))
        handle(.replaced(Self.abc, Self.at(3, epoch: epoch), [.of(3)]))
        #expect(record.status.reads.isEmpty && record.status.read == 0 && record.status.first == 3)
    }

    // MARK: Readers

    @Test func `a reader takes stored entries from the store, and then live ones`() {
        record.addReader(1, after: nil)
        #expect(take().next == .read(after: Self.at(0), generation: 1))
        record.fill(1, (1...10).map { .of($0) }, after: 0, generation: 1)
        #expect(take() == (Array(1...10), .wait))
        append(11...13)
        #expect(take() == (Array(11...13), .wait))
        record.removeReader(1)
        #expect(take().next == nil)
    }

    @Test func `a reader starts after the position that it has seen`() {
        record.addReader(1, after: Self.at(8))
        #expect(take().next == .read(after: Self.at(8), generation: 1))
        record.addReader(2, after: Self.at(8, epoch: 3))
        #expect(take(2).next == .update(.replaced(Self.at(10))))
        record.addReader(3, after: Self.at(11))
        #expect(take(3).next == .update(.replaced(Self.at(10))))
    }

    @Test func `a slow reader has a bounded buffer and reads the rest from the store`() {
        record.addReader(1, after: Self.at(10))
        #expect(take().next == .wait)
        append(11...70)
        append(71...75)
        #expect(record.readyEntries == 60)
        #expect(take() == (Array(11...70), .read(after: Self.at(70), generation: 1)))
    }

    @Test func `a reader ignores an answer of the store that comes too late`() {
        record.addReader(1, after: Self.at(8))
        #expect(take().next == .read(after: Self.at(8), generation: 1))
        handle(.replaced(Self.abc, Self.at(20, epoch: 9), [.of(9), .of(20)]))
        record.fill(1, [.of(9), .of(10)], after: 8, generation: 1)
        #expect(take().next == .update(.replaced(Self.at(20, epoch: 9))))
        record.fill(1, [.of(9), .of(10)], after: 8, generation: 1)
        #expect(record.readyEntries == 0 && skip(after: 8, to: 15) == nil)
    }

    @Test func `a reader skips entries that the store has dropped`() {
        record.addReader(1, after: Self.at(2))
        #expect(take().next == .read(after: Self.at(2), generation: 1))
        #expect(skip(after: 2, to: 3) == nil)
        #expect(skip(after: 2, to: 7) == .replaced(Self.at(10)))
        #expect(record.status.first == 7 && take().next == .read(after: Self.at(6), generation: 1))
    }

    @Test func `a reader from the beginning waits until the first entry is here`() {
        record = RoomRecord()
        record.join(JoinRequest(start: .beginning))
        record.addReader(1, after: nil)
        #expect(take().next == .wait)
        record.load(StoredRoom())
        handle(.replaced(Self.abc, Self.at(9), [.of(8), .of(9)]))
        #expect(take().next == .wait)
        handle(.page(Self.abc, reference: 0, (1...7).map { .of($0) }, reachedBeginning: true))
        #expect(take().next == .read(after: Self.at(0), generation: 1) && record.status.first == 1)
    }

    @Test func `a reader from the beginning does not wait for entries that are not available`() {
        record = RoomRecord()
        record.join(JoinRequest(start: .beginning))
        record.addReader(1, after: nil)
        record.load(StoredRoom())
        handle(.replaced(Self.abc, Self.at(9), [.of(8), .of(9)]), .noPage(Self.abc, reference: 0, nil))
        #expect(take().next == .read(after: Self.at(7), generation: 1))
    }

    // MARK: Pages and leaving

    @Test func `a record keeps history pages for those who wait for them`() {
        handle(.page(Self.abc, reference: 4, [.of(1)], reachedBeginning: true))
        #expect(record.page(4) == nil)
        record.awaitPage(5)
        record.awaitPage(6)
        handle(.page(Self.abc, reference: 5, [.of(1)], reachedBeginning: true), .noPage(Self.abc, reference: 6, nil))
        #expect(record.page(5) == .page([.of(1)], reachedBeginning: true) && record.page(6) == RoomRecord.PageOutcome.none(nil))
        record.forgetPage(5)
        #expect(record.page(5) == nil)
    }

    @Test func `a room that was left has no members, and is loaded again when it is joined again`() {
        let member = PresentMember(connection: "c1", user: ClientBench.bob, presence: Presence())
        handle(.members(Self.abc, [member], total: 1), .typing(Self.abc, [ClientBench.bob]))
        #expect(record.status.members.map(\.user) == [ClientBench.bob] && record.status.typing == [ClientBench.bob])
        record.leave()
        #expect(record.status.phase == .left && record.status.members.isEmpty && record.status.total == 0 && record.status.typing.isEmpty)
        record.join(JoinRequest())
        #expect(record.status.phase == .loading)
    }
}
