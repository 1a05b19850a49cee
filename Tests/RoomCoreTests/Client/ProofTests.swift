import MachineCore
import ProtocolCore
import RoomCore
import Testing

/// A client stores the proof of a cursor with the cursor and sends both.
///
/// It accepts a log that went back.
@Suite struct ClientProofTests {
    private let abc = ClientBench.abc
    private let epoch = ClientBench.epoch
    private let one = CursorProof(Bits128(high: 1, low: 1))
    private let two = CursorProof(Bits128(high: 2, low: 2))

    /// The cursor and the proof that the client sends when it joins again.
    private func shown(_ bench: inout ClientBench) -> (LogPosition, CursorProof?)? {
        _ = bench.takeEffects()
        bench.receive(.lag(abc, head: 99))
        bench.write()
        for case .join(let join) in bench.sent() { return (join.cursor, join.proof) }
        return nil
    }

    private func state(after seq: Int64, _ items: [Entry], epoch: UInt64? = nil, snapshot: Bool = false, _ proof: CursorProof?) -> HubFrame
    {
        guard
            case .state(var state) = HubFrame.state(after: seq, items, epoch: epoch ?? self.epoch, snapshot: snapshot)
        else { preconditionFailure() }
        state.proof = proof
        return .state(state)
    }

    @Test func `a client stores a proof in the transaction that moves the cursor, and sends it from then on`() throws {
        var bench = ClientBench.live()
        bench.receive(.entries(abc, epoch: epoch, [.of(11), .of(12)], proof: one))
        #expect(bench.commits.map(\.changes) == [[.append(abc, epoch: epoch, [.of(11), .of(12)]), .prove(abc, one)]])
        bench.write()
        #expect(try #require(shown(&bench)) == (LogPosition(epoch: epoch, seq: 12), one))
        bench.receive(state(after: 20, [.of(21)], epoch: 0xE2, snapshot: true, two))
        let cursor = LogPosition(epoch: 0xE2, seq: 21)
        #expect(bench.commits.last?.changes == [.replace(abc, cursor: cursor, [.of(21)]), .prove(abc, two)])
        bench.write()
        #expect(try #require(shown(&bench)) == (cursor, two))
    }

    @Test func `a client sends its stored proof after a start`() throws {
        let stored = StoredRoom(cursor: LogPosition(epoch: epoch, seq: 10), first: 1, proof: one)
        var bench = ClientBench.live(stored: stored)
        #expect(try #require(shown(&bench)) == (stored.cursor, one))
        // Entries without a proof remove the stored one.
        bench.receive(state(after: 10, [.of(11)], nil))
        #expect(bench.commits.last?.changes == [.append(abc, epoch: epoch, [.of(11)])])
        bench.write()
        #expect(try #require(shown(&bench)) == (LogPosition(epoch: epoch, seq: 11), nil))
    }

    @Test func `a proof belongs to the last entry, and a client drops it when it did not take all entries`() throws {
        var bench = ClientBench.live(stored: StoredRoom(cursor: LogPosition(epoch: epoch, seq: 10), first: 1, proof: one))
        // Entries that the client has do not change its proof.
        bench.receive(.entries(abc, epoch: epoch, [.of(8), .of(9)], proof: two))
        #expect(try #require(shown(&bench)).1 == one)
        bench.receive(state(after: 10, [], nil))
        bench.receive(.entries(abc, epoch: epoch, [.of(11), .of(13)], proof: two))
        #expect(bench.commits.last?.changes == [.append(abc, epoch: epoch, [.of(11)])])
    }

    @Test func `a client does not take a proof of another epoch`() throws {
        var bench = ClientBench.live(stored: StoredRoom(cursor: LogPosition(epoch: epoch, seq: 10), first: 1, proof: one))
        bench.receive(.entries(abc, epoch: 0xE2, [.of(10)], proof: two))
        bench.handle(.lost)
        bench.open()
        let joins = bench.sent().compactMap { if case .hello(let hello) = $0 { hello.joins.first } else { nil } }
        #expect(joins.last?.proof == one)
    }

    @Test func `a client without a proof gets one with the answer to a join`() throws {
        var bench = ClientBench.live()
        _ = shown(&bench)
        bench.receive(state(after: 10, [], one))
        #expect(try #require(shown(&bench)) == (LogPosition(epoch: epoch, seq: 10), one))
    }

    // MARK: A log that went back

    @Test func `a snapshot that ends before the cursor replaces the entries, and the app is told`() {
        var bench = ClientBench.live(stored: StoredRoom(cursor: LogPosition(epoch: epoch, seq: 10), first: 1, read: 9))
        _ = shown(&bench)
        bench.receive(state(after: 4, [.of(5)], snapshot: true, one))
        let cursor = LogPosition(epoch: epoch, seq: 5)
        #expect(bench.commits.map(\.changes) == [[.replace(abc, cursor: cursor, [.of(5)]), .prove(abc, one)]])
        _ = bench.takeEffects()
        bench.handle(.committed(1))
        #expect(bench.news().contains(.replaced(abc, cursor, [.of(5)])))
        // The read marker was at an entry that no longer exists.
        bench.handle(.read(abc, upTo: 5))
        #expect(bench.takeEffects().contains(.send(.read(abc, upTo: 5))))
    }

    @Test func `a hub with a wrong log does not make a client lose messages of its outbox`() {
        var bench = ClientBench.live(stored: StoredRoom(cursor: LogPosition(epoch: epoch, seq: 10), first: 1, next: 3))
        bench.submit(3, 4)
        bench.write()
        _ = shown(&bench)
        // It has no publication of this device, and has another user's entry under this device's number.
        bench.receive(state(after: 0, [.of(1, id: 3), .of(2)], snapshot: true, one))
        let changes = bench.commits.flatMap(\.changes)
        #expect(!changes.contains { if case .remove = $0 { true } else { false } })
        bench.write()
        #expect(!bench.news().contains { if case .stored = $0 { true } else { false } })
    }
}
