import MachineCore
import RoomCore
import Testing

/// "A log that went back": the proof of a cursor shows it, and the room gets a new epoch on disk.
@Suite struct HubRewoundTests {
    private static let key = ProofKey(Bits128(high: 1, low: 2))
    private var stage = HubStage(proofs: key)
    /// The copy of the log, which a later test step restores.
    private var copy = ModelLog()

    /// A room with five entries in the copy, and more entries after them.
    private mutating func grow(upTo head: Int64) -> (cursor: LogPosition, proof: CursorProof?) {
        let ann = stage.member("ann", device: 1)
        stage.publish(ann, 1...5)
        copy = stage.log
        if head > 5 { stage.publish(ann, 6...head) }
        let frames = stage.takeFrames(ann)
        var proof: CursorProof?
        for case .entries(_, _, _, let last) in frames { proof = last }
        return (LogPosition(epoch: epoch, seq: head), proof)
    }

    /// The proof of an entry in the copy.
    private func proofOf(_ seq: Int64) -> CursorProof {
        Self.key.proof(of: .numbered(seq), at: LogPosition(epoch: epoch, seq: seq), in: .lobby)
    }

    private var epoch: UInt64 { stage.log.rooms[.lobby]?.epoch ?? 0 }

    /// The hub is killed and starts again on the copy.
    private mutating func restoreCopy(_ policy: HubPolicy = HubPolicy()) {
        stage = HubStage(policy, proofs: Self.key)
        stage.log = copy
    }

    /// The hub stops and starts again on its log, with `tail` entries in memory.
    private mutating func restart(tail: Int) {
        var policy = HubPolicy()
        policy.tailEntries = tail
        let log = stage.log
        stage = HubStage(policy, proofs: Self.key)
        stage.log = log
    }

    private mutating func join(_ user: String, _ cursor: LogPosition, _ proof: CursorProof?, limit: Int64 = 0) -> ConnectionID {
        // Not the device that published the entries.
        let id = stage.client(user, device: 100 + UInt64(user.utf8.first ?? 0))
        stage.handle(id, .join(.init(room: .lobby, cursor: cursor, limit: limit, proof: proof)))
        return id
    }

    @Test mutating func `a state carries the proof of its last entry`() throws {
        let (cursor, proof) = grow(upTo: 8)
        #expect(proof == Self.key.proof(of: .numbered(8), at: cursor, in: .lobby))
        let received = stage.takeFrames(join("bob", .nowhere, nil))
        #expect(try #require(received.states.first).proof == proof)
        // A state without entries carries it too, so a client without a proof gets one.
        #expect(stage.takeFrames(join("bob", cursor, nil)).states.map(\.proof) == [proof])
    }

    @Test mutating func `a page that does not reach the head carries the proof of its own last entry`() throws {
        var policy = HubPolicy()
        policy.limits.page = 2
        stage = HubStage(policy, proofs: Self.key)
        _ = grow(upTo: 8)
        let state = try #require(stage.takeFrames(join("bob", LogPosition(epoch: epoch, seq: 3), nil)).states.first)
        #expect(state.hasMore && state.to == 5)
        #expect(state.proof == Self.key.proof(of: .numbered(5), at: LogPosition(epoch: epoch, seq: 5), in: .lobby))
    }

    @Test mutating func `a proof for a position beyond the log's end gives the room a new epoch, and all members get it`() throws {
        let (cursor, proof) = grow(upTo: 8)
        restoreCopy()
        let bob = join("bob", LogPosition(epoch: epoch, seq: 5), nil)
        #expect(stage.takeFrames(bob).states.map(\.isSnapshot) == [false])
        let ann = join("ann", cursor, proof)
        #expect(stage.rewound == [.lobby] && epoch != cursor.epoch && stage.hub.figures.rewound == 1)
        let state = try #require(stage.takeFrames(ann).states.first)
        #expect(state.epoch == epoch && state.isSnapshot && state.items.map(\.seq) == Array(1...5))
        #expect(stage.takeFrames(bob) == [.lag(.lobby, head: 5)])
        // It happens once, because no client is ahead of the new epoch.
        let eve = join("eve", cursor, proof)
        #expect(stage.rewound == [.lobby] && stage.takeFrames(eve).states.map(\.isSnapshot) == [true])
    }

    @Test(arguments: [1, 3, 9], [0, 2, 512] as [Int])
    mutating func `a proof of another entry than the log has gives the room a new epoch`(more: Int64, tail: Int) throws {
        let (cursor, proof) = grow(upTo: 8)
        var policy = HubPolicy()
        (policy.tailEntries, policy.pageBytes) = (tail, 700)
        restoreCopy(policy)
        // The log grows again, up to the cursor or beyond it.
        let eve = stage.member("eve", device: 9)
        stage.publish(eve, 1...(2 + more))
        let old = epoch
        let ann = join("ann", cursor, proof)
        let state = try #require(stage.takeFrames(ann).states.first)
        #expect(stage.rewound == [.lobby] && epoch != old && state.isSnapshot && state.epoch == epoch)
    }

    @Test(arguments: [0, 512] as [Int])
    mutating func `the proof of a cursor that is so old that it gets a snapshot is checked, too`(tail: Int) throws {
        let (cursor, proof) = grow(upTo: 8)
        var policy = HubPolicy()
        policy.tailEntries = tail
        restoreCopy(policy)
        stage.publish(stage.member("eve", device: 9), 1...10)
        let bob = join("bob", LogPosition(epoch: epoch, seq: 4), proofOf(4), limit: 2)
        let state = try #require(stage.takeFrames(bob).states.first)
        #expect(state.isSnapshot && state.items.map(\.seq) == [14, 15] && stage.rewound.isEmpty)
        let ann = join("ann", cursor, proof, limit: 2)
        #expect(stage.rewound == [.lobby] && epoch != cursor.epoch)
        #expect(stage.takeFrames(ann).states.map(\.epoch) == [epoch])
    }

    @Test mutating func `a proof of the same entry changes nothing`() {
        let (cursor, proof) = grow(upTo: 8)
        restart(tail: 0)
        let ann = join("ann", cursor, proof)
        #expect(stage.takeFrames(ann).states.map(\.isSnapshot) == [false])
        stage.publish(stage.member("eve", device: 9), 1...3)
        // The check uses an entry in memory, and then one in the log.
        let bob = join("bob", cursor, proof)
        #expect(stage.takeFrames(bob).states.map { $0.items.map(\.seq) } == [[9, 10, 11]])
        #expect(stage.rewound.isEmpty && stage.takeFrames(ann).entries == [9, 10, 11])
    }

    @Test mutating func `a proof is checked against the right entry in memory at each cursor`() {
        _ = grow(upTo: 5)
        // The room is opened with entries, more come, and the older half in memory is dropped.
        restart(tail: 2)
        stage.publish(stage.member("ann", device: 1), 6...12)
        for seq in 1...Int64(12) {
            let bob = join("bob", LogPosition(epoch: epoch, seq: seq), proofOf(seq))
            #expect(stage.takeFrames(bob).states.map { $0.items.map(\.seq) } == [Array((seq + 1)..<13)] && stage.rewound.isEmpty, "\(seq)")
            stage.handle(bob, .leave(.lobby))
        }
    }

    @Test mutating func `a long entry at the cursor does not block a join`() {
        var policy = HubPolicy()
        (policy.tailEntries, policy.pageBytes) = (0, 700)
        stage = HubStage(policy, proofs: Self.key)
        let ann = stage.member("ann", device: 1)
        stage.handle(ann, .publish(.lobby, .numbered(1, bytes: 2000)), .publish(.lobby, .numbered(2)), .publish(.lobby, .numbered(3)))
        let cursor = LogPosition(epoch: epoch, seq: 1)
        let bob = join("bob", cursor, Self.key.proof(of: .numbered(1), at: cursor, in: .lobby))
        #expect(stage.takeFrames(bob).states.first?.items.first?.seq == 2)
    }

    @Test mutating func `an unreadable entry proves nothing, and blocks only clients that need it`() throws {
        let (cursor, proof) = grow(upTo: 8)
        restart(tail: 0)
        stage.log.damaged = [8]
        let ann = join("ann", cursor, proof)
        #expect(stage.takeFrames(ann).states.map(\.isSnapshot) == [false])
        stage.publish(ann, 1...3)
        #expect(stage.takeFrames(join("bob", cursor, proof)).states.map { $0.items.map(\.seq) } == [[9, 10, 11]])
        // A client that needs the entry is refused, as before.
        #expect(stage.takeFrames(join("cat", LogPosition(epoch: epoch, seq: 6), proofOf(6))).codes == [.storage])
        #expect(stage.rewound.isEmpty)
    }

    @Test mutating func `a cursor that cannot be checked now keeps its proof until it can`() throws {
        let (cursor, proof) = grow(upTo: 8)
        var policy = HubPolicy()
        policy.tailEntries = 0
        restoreCopy(policy)
        stage.publish(stage.member("eve", device: 9), 1...5)
        stage.holdsLog = true
        let ann = join("ann", cursor, proof)
        // The hub reads the device's mark first, and then the entry at the cursor.
        stage.answer(1)
        stage.log.isReadable = false
        stage.answer(1)
        stage.log.isReadable = true
        stage.holdsLog = false
        stage.answer()
        let received = stage.takeFrames(ann)
        #expect(received.codes == [.storage] && received.states.isEmpty && stage.rewound.isEmpty)
        guard case .after? = received.refusals.first?.retry else { Issue.record("the refusal has no retry time"); return }
        stage.handle(ann, .join(.init(room: .lobby, cursor: cursor, proof: proof)))
        #expect(stage.rewound == [.lobby] && stage.takeFrames(ann).states.map(\.epoch) == [epoch] && epoch != cursor.epoch)
    }

    // MARK: Which entry a proof is of

    @Test(arguments: [0, 512] as [Int])
    mutating func `the same message stored again is another entry`(tail: Int) throws {
        let (cursor, proof) = grow(upTo: 8)
        let ids = stage.log.rooms[.lobby]?.entries.map(\.id)
        var policy = HubPolicy()
        policy.tailEntries = tail
        restoreCopy(policy)
        stage.give(.calendar(HubStage.newYear + 1000))
        // The publisher sends the lost messages again, and all get the same numbers again.
        stage.publish(stage.member("ann", device: 1), 6...8)
        #expect(stage.log.rooms[.lobby]?.entries.map(\.id) == ids)
        let bob = join("bob", cursor, proof)
        #expect(stage.rewound == [.lobby] && stage.takeFrames(bob).states.map(\.epoch) == [epoch] && epoch != cursor.epoch)
    }

    @Test func `a proof covers all fields that distinguish entries`() {
        let (id, device) = (MessageID.numbered(1), DeviceID.numbered(1))
        let stamps = [
            EntryStamp(id: id, device: device, cseq: 1, at: 1), EntryStamp(id: .numbered(2), device: device, cseq: 1, at: 1),
            EntryStamp(id: MessageID(Bits128(high: 0xB, low: 1)), device: device, cseq: 1, at: 1),
            EntryStamp(id: id, device: .numbered(2), cseq: 1, at: 1),
            EntryStamp(id: id, device: DeviceID(Bits128(high: 0xB, low: 1)), cseq: 1, at: 1),
            EntryStamp(id: id, device: device, cseq: 2, at: 1), EntryStamp(id: id, device: device, cseq: 1, at: 2),
        ]
        let place = LogPosition(epoch: 1, seq: 1)
        #expect(Set(stamps.map { Self.key.proof(of: $0, at: place, in: .lobby).bits.high }).count == stamps.count)
    }

    @Test mutating func `a proof of an earlier version, which covers only the ID, is ignored`() {
        let (cursor, _) = grow(upTo: 8)
        func hash(_ part: UInt64, _ bits: Bits128) -> UInt64 {
            var hash = SipHash(key: Bits128(high: 1, low: 2))
            for word in [part, cursor.epoch, UInt64(cursor.seq), bits.high, bits.low] { hash.combine(word) }
            for byte in RoomName.lobby.text.utf8 { hash.combine(byte) }
            return hash.finish()
        }
        let entry = hash(1, MessageID.numbered(8).bits)
        let proof = CursorProof(Bits128(high: entry, low: hash(2, Bits128(high: entry, low: 0))))
        let bob = join("bob", cursor, proof)
        #expect(stage.rewound.isEmpty)
        // The client gets a new proof instead.
        #expect(stage.takeFrames(bob).states.map(\.proof) == [Self.key.proof(of: .numbered(8), at: cursor, in: .lobby)])
    }

    // MARK: Entries that retention has removed

    /// How a hub knows the last entry that retention has removed.
    enum Knowledge: CaseIterable {
        /// It had the entry in memory.
        case memory
        /// It was told while it was running.
        case told
        /// It read it when it opened the room later.
        case disk
        /// It reads it when it checks the cursor.
        case read
    }

    /// Makes the cursor's entry the last one that retention removes, with `more` entries after it.
    private mutating func expire(upTo cursor: LogPosition, more: Int64, _ knowledge: Knowledge, isBack: Bool) {
        var policy = HubPolicy()
        policy.tailEntries = knowledge == .memory ? 512 : 0
        let log = stage.log
        restoreCopy(policy)
        if !isBack { stage.log = log }
        let eve = stage.member("eve", device: 9)
        let head = stage.log.rooms[.lobby]?.head ?? 0
        stage.publish(eve, 1...(cursor.seq + more - head))
        guard knowledge != .read else { return }
        let reply = stage.log.trim(.lobby, to: Int((stage.log.rooms[.lobby]?.head ?? 0) - cursor.seq))
        guard knowledge != .disk else { return restart(tail: 0) }
        if let reply { stage.give(.log(reply)) }
    }

    @Test(arguments: Knowledge.allCases, [0, 3] as [Int64])
    mutating func `an expired room with another last removed entry gets a new epoch`(_ knowledge: Knowledge, more: Int64) throws {
        let (cursor, proof) = grow(upTo: 8)
        expire(upTo: cursor, more: more, knowledge, isBack: true)
        let ann = joinExpired(cursor, proof, more, knowledge)
        #expect(stage.rewound == [.lobby] && epoch != cursor.epoch)
        let state = try #require(stage.takeFrames(ann).states.first)
        #expect(state.isSnapshot && state.epoch == epoch && state.items.count == Int(more))
    }

    @Test(arguments: Knowledge.allCases)
    mutating func `an expired room whose last removed entry matches the proof is resumed`(_ knowledge: Knowledge) throws {
        let (cursor, proof) = grow(upTo: 8)
        expire(upTo: cursor, more: 3, knowledge, isBack: false)
        let ann = joinExpired(cursor, proof, 3, knowledge)
        #expect(stage.rewound.isEmpty && epoch == cursor.epoch)
        #expect(stage.takeFrames(ann).states.map { $0.isSnapshot ? [] : $0.items.map(\.seq) } == [[9, 10, 11]])
    }

    /// Joins.
    ///
    /// For `.read`, retention removes entries between the hub's first look at the cursor and the read.
    private mutating func joinExpired(
        _ cursor: LogPosition, _ proof: CursorProof?, _ more: Int64, _ knowledge: Knowledge
    ) -> ConnectionID {
        guard knowledge == .read else { return join("ann", cursor, proof) }
        stage.holdsLog = true
        let ann = join("ann", cursor, proof)
        stage.answer(1)
        _ = stage.log.trim(.lobby, to: Int(more))
        stage.holdsLog = false
        stage.answer()
        return ann
    }

    @Test mutating func `a client that joins an expired room gets a proof`() throws {
        let (cursor, proof) = grow(upTo: 8)
        _ = stage.log.trim(.lobby, to: 0)
        restart(tail: 0)
        let state = try #require(stage.takeFrames(join("bob", .nowhere, nil)).states.first)
        #expect(state.isSnapshot && state.items.isEmpty && state.to == 8 && state.proof == proof && state.epoch == cursor.epoch)
    }

    @Test mutating func `for entries that an earlier version removed, proofs are not checked`() {
        let (cursor, proof) = grow(upTo: 8)
        expire(upTo: cursor, more: 3, .disk, isBack: true)
        stage.log.forgetBelow(.lobby)
        #expect(stage.takeFrames(join("bob", cursor, proof)).states.map(\.isSnapshot) == [false])
        #expect(stage.rewound.isEmpty)
    }

    @Test(arguments: ["none", "forged", "of another place", "of another epoch", "of another room", "of another hub"])
    mutating func `a cursor without a valid proof gets the entries that exist, and the room's epoch stays`(proof kind: String) throws {
        let (cursor, proof) = grow(upTo: 8)
        restoreCopy()
        let bob = join("bob", LogPosition(epoch: epoch, seq: 5), nil)
        _ = stage.takeFrames(bob)
        let other = LogPosition(epoch: cursor.epoch, seq: 7)
        let shown: CursorProof? =
            switch kind {
            case "none": nil
            case "forged": proof.map { CursorProof(Bits128(high: $0.bits.high ^ 1, low: $0.bits.low)) }
            case "of another place": Self.key.proof(of: .numbered(8), at: other, in: .lobby)
            case "of another epoch":
                Self.key.proof(of: .numbered(8), at: LogPosition(epoch: cursor.epoch + 1, seq: cursor.seq), in: .lobby)
            case "of another room": Self.key.proof(of: .numbered(8), at: cursor, in: RoomName("other")!)
            default: ProofKey(Bits128(high: 1, low: 3)).proof(of: .numbered(8), at: cursor, in: .lobby)
            }
        let ann = join("ann", cursor, shown)
        let state = try #require(stage.takeFrames(ann).states.first)
        #expect(state.isSnapshot && state.epoch == cursor.epoch && state.to == 5 && state.items.map(\.seq) == Array(1...5))
        #expect(stage.rewound.isEmpty && stage.takeFrames(bob).isEmpty && epoch == cursor.epoch)
    }

    @Test mutating func `a proof of a removed entry below the last removed one is ignored`() {
        let (cursor, proof) = grow(upTo: 8)
        stage.publish(stage.member("eve", device: 9), 1...3)
        let log = stage.log
        restoreCopy()
        stage.log = log
        _ = stage.log.trim(.lobby, to: 3)
        #expect(stage.takeFrames(join("bob", cursor, proof)).states.map(\.isSnapshot) == [false])
        #expect(stage.rewound.isEmpty)
    }

    // MARK: While a new epoch is drawn

    @Test mutating func `pending publications are stored first, and those that come meanwhile are accepted afterwards`() throws {
        let (cursor, proof) = grow(upTo: 8)
        restoreCopy()
        let bob = stage.member("bob", device: 2)
        stage.holdsLog = true
        stage.publish(bob, 1...2)
        let ann = stage.client("ann", device: 3)
        stage.handle(ann, .join(.init(room: .lobby, cursor: cursor, proof: proof)))
        // The device's mark comes first, because reads have their own lane.
        #expect(stage.orders.count == 2)
        stage.orders.swapAt(0, 1)
        stage.answer(1)
        // The first append is pending and the second is collected: the new epoch waits for both.
        #expect(stage.rewound == [.lobby] && stage.orders.count == 1)
        stage.answer(1)
        stage.publish(bob, 3...3)
        let early = stage.takeFrames(bob)
        #expect(early.acks.map(\.cseq) == [1] && early.refusals.allSatisfy { $0.code == .storage && $0.cseq == 3 })
        stage.answer()
        #expect(stage.log.rooms[.lobby]?.head == 7 && epoch != cursor.epoch && stage.rewound == [.lobby])
        #expect(stage.takeFrames(bob).acks.map(\.seq) == [7])
        #expect(stage.takeFrames(ann).states.map(\.to) == [7])
        // The client joins again and sends the postponed publications.
        stage.holdsLog = false
        stage.handle(bob, .join(.init(room: .lobby, cursor: LogPosition(epoch: cursor.epoch, seq: 7))))
        stage.publish(bob, 3...3)
        let received = stage.takeFrames(bob)
        #expect(received.states.map(\.high) == [2] && received.acks.map(\.seq) == [8])
        #expect(stage.log.written[.lobby]?.map(\.epoch) == Array(repeating: cursor.epoch, count: 7) + [epoch])
    }

    @Test mutating func `a server publication waits for the new epoch`() {
        let (cursor, proof) = grow(upTo: 8)
        restoreCopy()
        stage.holdsLog = true
        let ann = join("ann", cursor, proof)
        stage.answer(2)
        #expect(stage.rewound == [.lobby])
        stage.give(.publish(ServerRequest(1), .lobby, .numbered(77), UserName("api")!, .numbered(1)))
        #expect(stage.answers.isEmpty)
        stage.answer()
        guard case .stored(epoch, let ack)? = stage.answers[ServerRequest(1)] else { Issue.record("not stored"); return }
        #expect(ack.seq == 6 && epoch != cursor.epoch && stage.takeFrames(ann).states.count == 1)
    }

    @Test mutating func `a new epoch that could not be written is drawn again`() {
        let (cursor, proof) = grow(upTo: 8)
        restoreCopy()
        stage.holdsLog = true
        let ann = join("ann", cursor, proof)
        stage.answer(2)
        stage.log.isReadable = false
        stage.answer()
        #expect(stage.takeFrames(ann).codes == [.storage] && epoch == cursor.epoch)
        // Until then the room stays open. A later client without a proof would otherwise write in the old epoch.
        stage.holdsLog = false
        stage.pass(.seconds(70))
        stage.log.isReadable = true
        let bob = join("bob", .nowhere, nil)
        stage.publish(bob, 1...1)
        stage.pass(.seconds(60))
        #expect(epoch != cursor.epoch && stage.takeFrames(bob).states.map(\.epoch) == [epoch])
        #expect(stage.log.rooms[.lobby]?.head == 5)
        stage.handle(ann, .join(.init(room: .lobby, cursor: cursor, proof: proof)))
        #expect(stage.takeFrames(ann).states.map(\.epoch) == [epoch] && stage.rewound == [.lobby])
        // The room is closed when no one needs it any more.
        stage.give(.gone(ann), .gone(bob))
        stage.pass(.seconds(120))
        #expect(stage.hub.figures.rooms == 0)
    }
}
