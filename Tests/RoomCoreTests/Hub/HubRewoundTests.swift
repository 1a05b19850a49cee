import MachineCore
import RoomCore
import Testing

/// "A log that went back": the proof of a cursor shows it, and the room gets a new epoch on disk.
@Suite struct HubRewoundTests {
    private static let key = ProofKey(Bits128(high: 1, low: 2))
    private var stage = HubStage(proofs: key)
    /// What the log was when it was copied.
    private var copy = ModelLog()

    /// Five entries that were copied, and more after them.
    private mutating func lived(upTo head: Int64) -> (cursor: LogPosition, proof: CursorProof?) {
        let ann = stage.member("ann", device: 1)
        stage.publish(ann, 1...5)
        copy = stage.log
        if head > 5 { stage.publish(ann, 6...head) }
        let frames = stage.heard(ann)
        var proof: CursorProof?
        for case .entries(_, _, _, let last) in frames { proof = last }
        return (LogPosition(epoch: epoch, seq: head), proof)
    }

    /// Of an entry that was copied.
    private func proofOf(_ seq: Int64) -> CursorProof {
        Self.key.proof(of: .numbered(seq), at: LogPosition(epoch: epoch, seq: seq), in: .lobby)
    }

    private var epoch: UInt64 { stage.log.rooms[.lobby]?.epoch ?? 0 }

    /// The hub dies, and starts again on the copy.
    private mutating func goesBack(_ policy: HubPolicy = HubPolicy()) {
        stage = HubStage(policy, proofs: Self.key)
        stage.log = copy
    }

    /// The hub ends, and starts again on its log, of which it has so many entries in memory.
    private mutating func restart(tail: Int) {
        var policy = HubPolicy()
        policy.tailEntries = tail
        let log = stage.log
        stage = HubStage(policy, proofs: Self.key)
        stage.log = log
    }

    private mutating func join(_ user: String, _ cursor: LogPosition, _ proof: CursorProof?, limit: Int64 = 0) -> ConnectionID {
        // Not the device that has published.
        let id = stage.client(user, device: 100 + UInt64(user.utf8.first ?? 0))
        stage.handle(id, .join(.init(room: .lobby, cursor: cursor, limit: limit, proof: proof)))
        return id
    }

    @Test mutating func `what is told of a log carries the proof of its last entry`() throws {
        let (cursor, proof) = lived(upTo: 8)
        #expect(proof == Self.key.proof(of: .numbered(8), at: cursor, in: .lobby))
        let said = stage.heard(join("bob", .nowhere, nil))
        #expect(try #require(said.states.first).proof == proof)
        // And so does what follows nothing: whoever has no proof gets it.
        #expect(stage.heard(join("bob", cursor, nil)).states.map(\.proof) == [proof])
    }

    @Test mutating func `a page that does not reach the head carries the proof of its own end`() throws {
        var policy = HubPolicy()
        policy.limits.page = 2
        stage = HubStage(policy, proofs: Self.key)
        _ = lived(upTo: 8)
        let state = try #require(stage.heard(join("bob", LogPosition(epoch: epoch, seq: 3), nil)).states.first)
        #expect(state.hasMore && state.to == 5)
        #expect(state.proof == Self.key.proof(of: .numbered(5), at: LogPosition(epoch: epoch, seq: 5), in: .lobby))
    }

    @Test mutating func `who proves more than the log has gives the room a new epoch, and all members hear of it`() throws {
        let (cursor, proof) = lived(upTo: 8)
        goesBack()
        let bob = join("bob", LogPosition(epoch: epoch, seq: 5), nil)
        #expect(stage.heard(bob).states.map(\.isSnapshot) == [false])
        let ann = join("ann", cursor, proof)
        #expect(stage.rewound == [.lobby] && epoch != cursor.epoch && stage.hub.figures.rewound == 1)
        let state = try #require(stage.heard(ann).states.first)
        #expect(state.epoch == epoch && state.isSnapshot && state.items.map(\.seq) == Array(1...5))
        #expect(stage.heard(bob) == [.lag(.lobby, head: 5)])
        // Once is enough: of the new epoch nobody has more.
        let eve = join("eve", cursor, proof)
        #expect(stage.rewound == [.lobby] && stage.heard(eve).states.map(\.isSnapshot) == [true])
    }

    @Test(arguments: [1, 3, 9], [0, 2, 512] as [Int])
    mutating func `who proves another entry than the log has does so, too`(more: Int64, tail: Int) throws {
        let (cursor, proof) = lived(upTo: 8)
        var policy = HubPolicy()
        (policy.tailEntries, policy.pageBytes) = (tail, 700)
        goesBack(policy)
        // The log grows again, beyond the cursor or just up to it.
        let eve = stage.member("eve", device: 9)
        stage.publish(eve, 1...(2 + more))
        let old = epoch
        let ann = join("ann", cursor, proof)
        let state = try #require(stage.heard(ann).states.first)
        #expect(stage.rewound == [.lobby] && epoch != old && state.isSnapshot && state.epoch == epoch)
    }

    @Test(arguments: [0, 512] as [Int])
    mutating func `a cursor so far back that it gets a snapshot is looked at as well`(tail: Int) throws {
        let (cursor, proof) = lived(upTo: 8)
        var policy = HubPolicy()
        policy.tailEntries = tail
        goesBack(policy)
        stage.publish(stage.member("eve", device: 9), 1...10)
        let bob = join("bob", LogPosition(epoch: epoch, seq: 4), proofOf(4), limit: 2)
        let state = try #require(stage.heard(bob).states.first)
        #expect(state.isSnapshot && state.items.map(\.seq) == [14, 15] && stage.rewound.isEmpty)
        let ann = join("ann", cursor, proof, limit: 2)
        #expect(stage.rewound == [.lobby] && epoch != cursor.epoch)
        #expect(stage.heard(ann).states.map(\.epoch) == [epoch])
    }

    @Test mutating func `the same entry is no sign of anything`() {
        let (cursor, proof) = lived(upTo: 8)
        restart(tail: 0)
        let ann = join("ann", cursor, proof)
        #expect(stage.heard(ann).states.map(\.isSnapshot) == [false])
        stage.publish(stage.member("eve", device: 9), 1...3)
        // From memory, and from the log.
        let bob = join("bob", cursor, proof)
        #expect(stage.heard(bob).states.map { $0.items.map(\.seq) } == [[9, 10, 11]])
        #expect(stage.rewound.isEmpty && stage.heard(ann).entries == [9, 10, 11])
    }

    @Test mutating func `what is in memory of the log shows the right entry at each cursor`() {
        _ = lived(upTo: 5)
        // The room is opened with entries, more come, and the older half of what is in memory goes.
        restart(tail: 2)
        stage.publish(stage.member("ann", device: 1), 6...12)
        for seq in 1...Int64(12) {
            let bob = join("bob", LogPosition(epoch: epoch, seq: seq), proofOf(seq))
            #expect(stage.heard(bob).states.map { $0.items.map(\.seq) } == [Array((seq + 1)..<13)] && stage.rewound.isEmpty, "\(seq)")
            stage.handle(bob, .leave(.lobby))
        }
    }

    @Test mutating func `a long entry at the cursor keeps nobody out`() {
        var policy = HubPolicy()
        (policy.tailEntries, policy.pageBytes) = (0, 700)
        stage = HubStage(policy, proofs: Self.key)
        let ann = stage.member("ann", device: 1)
        stage.handle(ann, .publish(.lobby, .numbered(1, bytes: 2000)), .publish(.lobby, .numbered(2)), .publish(.lobby, .numbered(3)))
        let cursor = LogPosition(epoch: epoch, seq: 1)
        let bob = join("bob", cursor, Self.key.proof(of: .numbered(1), at: cursor, in: .lobby))
        #expect(stage.heard(bob).states.first?.items.first?.seq == 2)
    }

    @Test mutating func `an entry that cannot be read shows nothing, and keeps nobody out who does not need it`() throws {
        let (cursor, proof) = lived(upTo: 8)
        restart(tail: 0)
        stage.log.damaged = [8]
        let ann = join("ann", cursor, proof)
        #expect(stage.heard(ann).states.map(\.isSnapshot) == [false])
        stage.publish(ann, 1...3)
        #expect(stage.heard(join("bob", cursor, proof)).states.map { $0.items.map(\.seq) } == [[9, 10, 11]])
        // Who needs it is refused, as before.
        #expect(stage.heard(join("cat", LogPosition(epoch: epoch, seq: 6), proofOf(6))).codes == [.storage])
        #expect(stage.rewound.isEmpty)
    }

    @Test mutating func `a cursor that cannot be looked at for the moment keeps its proof until it can`() throws {
        let (cursor, proof) = lived(upTo: 8)
        var policy = HubPolicy()
        policy.tailEntries = 0
        goesBack(policy)
        stage.publish(stage.member("eve", device: 9), 1...5)
        stage.holdsLog = true
        let ann = join("ann", cursor, proof)
        // First the device's mark, and then what is read for the cursor.
        stage.answer(1)
        stage.log.isReadable = false
        stage.answer(1)
        stage.log.isReadable = true
        stage.holdsLog = false
        stage.answer()
        let said = stage.heard(ann)
        #expect(said.codes == [.storage] && said.states.isEmpty && stage.rewound.isEmpty)
        guard case .after? = said.refusals.first?.retry else { Issue.record("it does not come again"); return }
        stage.handle(ann, .join(.init(room: .lobby, cursor: cursor, proof: proof)))
        #expect(stage.rewound == [.lobby] && stage.heard(ann).states.map(\.epoch) == [epoch] && epoch != cursor.epoch)
    }

    // MARK: Which entry it was

    @Test(arguments: [0, 512] as [Int])
    mutating func `the same id stored again is another entry`(tail: Int) throws {
        let (cursor, proof) = lived(upTo: 8)
        let ids = stage.log.rooms[.lobby]?.entries.map(\.id)
        var policy = HubPolicy()
        policy.tailEntries = tail
        goesBack(policy)
        stage.give(.calendar(HubStage.newYear + 1000))
        // The publisher sends again what was lost, and all of it has its number again.
        stage.publish(stage.member("ann", device: 1), 6...8)
        #expect(stage.log.rooms[.lobby]?.entries.map(\.id) == ids)
        let bob = join("bob", cursor, proof)
        #expect(stage.rewound == [.lobby] && stage.heard(bob).states.map(\.epoch) == [epoch] && epoch != cursor.epoch)
    }

    @Test func `a proof is of all that tells an entry from another`() {
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

    @Test mutating func `a proof of an earlier version, which names only the id, says nothing`() {
        let (cursor, _) = lived(upTo: 8)
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
        // It gets another one for it.
        #expect(stage.heard(bob).states.map(\.proof) == [Self.key.proof(of: .numbered(8), at: cursor, in: .lobby)])
    }

    // MARK: What retention has taken away

    /// How a hub knows of what was taken away.
    enum Knowledge: CaseIterable {
        /// It has had the entry in memory.
        case memory
        /// It was told while it was running.
        case told
        /// It was opened later.
        case disk
        /// It is told by the read that it makes for the cursor.
        case read
    }

    /// Lets the entry of the cursor be the last that retention takes, and more come after it.
    private mutating func expires(upTo cursor: LogPosition, more: Int64, _ knowledge: Knowledge, isBack: Bool) {
        var policy = HubPolicy()
        policy.tailEntries = knowledge == .memory ? 512 : 0
        let log = stage.log
        goesBack(policy)
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
    mutating func `an expired room whose head was another is found`(_ knowledge: Knowledge, more: Int64) throws {
        let (cursor, proof) = lived(upTo: 8)
        expires(upTo: cursor, more: more, knowledge, isBack: true)
        let ann = joinExpired(cursor, proof, more, knowledge)
        #expect(stage.rewound == [.lobby] && epoch != cursor.epoch)
        let state = try #require(stage.heard(ann).states.first)
        #expect(state.isSnapshot && state.epoch == epoch && state.items.count == Int(more))
    }

    @Test(arguments: Knowledge.allCases)
    mutating func `an expired room whose head was the same is resumed`(_ knowledge: Knowledge) throws {
        let (cursor, proof) = lived(upTo: 8)
        expires(upTo: cursor, more: 3, knowledge, isBack: false)
        let ann = joinExpired(cursor, proof, 3, knowledge)
        #expect(stage.rewound.isEmpty && epoch == cursor.epoch)
        #expect(stage.heard(ann).states.map { $0.isSnapshot ? [] : $0.items.map(\.seq) } == [[9, 10, 11]])
    }

    /// Joins; where the read is to tell it, retention comes between the hub's look at the cursor and the read.
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

    @Test mutating func `who comes to an expired room has a proof from then on`() throws {
        let (cursor, proof) = lived(upTo: 8)
        _ = stage.log.trim(.lobby, to: 0)
        restart(tail: 0)
        let state = try #require(stage.heard(join("bob", .nowhere, nil)).states.first)
        #expect(state.isSnapshot && state.items.isEmpty && state.to == 8 && state.proof == proof && state.epoch == cursor.epoch)
    }

    @Test mutating func `of what an earlier version has taken away nothing can be said`() {
        let (cursor, proof) = lived(upTo: 8)
        expires(upTo: cursor, more: 3, .disk, isBack: true)
        stage.log.forgetBelow(.lobby)
        #expect(stage.heard(join("bob", cursor, proof)).states.map(\.isSnapshot) == [false])
        #expect(stage.rewound.isEmpty)
    }

    @Test(arguments: ["none", "forged", "of another place", "of another epoch", "of another room", "of another hub"])
    mutating func `who proves nothing gets what there is, and nobody else is disturbed`(proof kind: String) throws {
        let (cursor, proof) = lived(upTo: 8)
        goesBack()
        let bob = join("bob", LogPosition(epoch: epoch, seq: 5), nil)
        _ = stage.heard(bob)
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
        let state = try #require(stage.heard(ann).states.first)
        #expect(state.isSnapshot && state.epoch == cursor.epoch && state.to == 5 && state.items.map(\.seq) == Array(1...5))
        #expect(stage.rewound.isEmpty && stage.heard(bob).isEmpty && epoch == cursor.epoch)
    }

    @Test mutating func `a proof of what retention has taken away is passed over`() {
        let (cursor, proof) = lived(upTo: 8)
        stage.publish(stage.member("eve", device: 9), 1...3)
        let log = stage.log
        goesBack()
        stage.log = log
        _ = stage.log.trim(.lobby, to: 3)
        #expect(stage.heard(join("bob", cursor, proof)).states.map(\.isSnapshot) == [false])
        #expect(stage.rewound.isEmpty)
    }

    // MARK: While the epoch is drawn

    @Test mutating func `what is on its way is stored first, and what comes meanwhile is taken after it`() throws {
        let (cursor, proof) = lived(upTo: 8)
        goesBack()
        let bob = stage.member("bob", device: 2)
        stage.holdsLog = true
        stage.publish(bob, 1...2)
        let ann = stage.client("ann", device: 3)
        stage.handle(ann, .join(.init(room: .lobby, cursor: cursor, proof: proof)))
        // The device's mark comes first, for reads have a lane of their own.
        #expect(stage.orders.count == 2)
        stage.orders.swapAt(0, 1)
        stage.answer(1)
        // The first append is under way, the second has gathered: the epoch waits for both.
        #expect(stage.rewound == [.lobby] && stage.orders.count == 1)
        stage.answer(1)
        stage.publish(bob, 3...3)
        let early = stage.heard(bob)
        #expect(early.acks.map(\.cseq) == [1] && early.refusals.allSatisfy { $0.code == .storage && $0.cseq == 3 })
        stage.answer()
        #expect(stage.log.rooms[.lobby]?.head == 7 && epoch != cursor.epoch && stage.rewound == [.lobby])
        #expect(stage.heard(bob).acks.map(\.seq) == [7])
        #expect(stage.heard(ann).states.map(\.to) == [7])
        // It joins again, and sends what was put off.
        stage.holdsLog = false
        stage.handle(bob, .join(.init(room: .lobby, cursor: LogPosition(epoch: cursor.epoch, seq: 7))))
        stage.publish(bob, 3...3)
        let said = stage.heard(bob)
        #expect(said.states.map(\.high) == [2] && said.acks.map(\.seq) == [8])
        #expect(stage.log.written[.lobby]?.map(\.epoch) == Array(repeating: cursor.epoch, count: 7) + [epoch])
    }

    @Test mutating func `a server's own publication waits for the new epoch`() {
        let (cursor, proof) = lived(upTo: 8)
        goesBack()
        stage.holdsLog = true
        let ann = join("ann", cursor, proof)
        stage.answer(2)
        #expect(stage.rewound == [.lobby])
        stage.give(.publish(ServerRequest(1), .lobby, .numbered(77), UserName("api")!, .numbered(1)))
        #expect(stage.answers.isEmpty)
        stage.answer()
        guard case .stored(epoch, let ack)? = stage.answers[ServerRequest(1)] else { Issue.record("not stored"); return }
        #expect(ack.seq == 6 && epoch != cursor.epoch && stage.heard(ann).states.count == 1)
    }

    @Test mutating func `an epoch that could not be written is drawn again`() {
        let (cursor, proof) = lived(upTo: 8)
        goesBack()
        stage.holdsLog = true
        let ann = join("ann", cursor, proof)
        stage.answer(2)
        stage.log.isReadable = false
        stage.answer()
        #expect(stage.heard(ann).codes == [.storage] && epoch == cursor.epoch)
        // However long that takes, the room is not let go: who comes next, and proves nothing, would write in the old epoch.
        stage.holdsLog = false
        stage.pass(.seconds(70))
        stage.log.isReadable = true
        let bob = join("bob", .nowhere, nil)
        stage.publish(bob, 1...1)
        stage.pass(.seconds(60))
        #expect(epoch != cursor.epoch && stage.heard(bob).states.map(\.epoch) == [epoch])
        #expect(stage.log.rooms[.lobby]?.head == 5)
        stage.handle(ann, .join(.init(room: .lobby, cursor: cursor, proof: proof)))
        #expect(stage.heard(ann).states.map(\.epoch) == [epoch] && stage.rewound == [.lobby])
        // When nobody needs it any more it is.
        stage.give(.gone(ann), .gone(bob))
        stage.pass(.seconds(120))
        #expect(stage.hub.figures.rooms == 0)
    }
}
