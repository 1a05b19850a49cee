import MachineCore
import RoomCore
import Testing

/// "Publishing".
@Suite struct HubPublishingTests {
    private var stage = HubStage()

    @Test mutating func `a publication is acked when it is on disk, and delivered only then`() {
        let (ann, bob) = (stage.member("ann"), stage.member("bob"))
        stage.holdsLog = true
        stage.publish(ann, 1...1)
        #expect(stage.takeFrames(ann).isEmpty && stage.takeFrames(bob).isEmpty)
        stage.answer()
        let (own, others) = (stage.takeFrames(ann), stage.takeFrames(bob))
        #expect(own.acks == [.init(cseq: 1, seq: 1, at: HubStage.newYear, id: .numbered(1))])
        #expect(own.entries == [1] && others.entries == [1] && others.acks.isEmpty)
    }

    @Test mutating func `an entry has its user, time and content`() throws {
        stage.grants = [Grant("*", .member), Grant("lobby", .admin)]
        let ann = stage.member("ann", device: 4)
        stage.pass(.milliseconds(1500))
        stage.handle(ann, .publish(.lobby, .numbered(1)))
        let entry = try #require(stage.log.rooms[.lobby]?.entries.first)
        #expect(entry.device == .numbered(4) && entry.cseq == 1 && entry.user.text == "ann" && entry.isAdmin)
        #expect(entry.at == HubStage.newYear + 1500 && entry.sent == HubStage.newYear && entry.type == "chat.text")
    }

    // MARK: Order

    @Test mutating func `a publication that is on disk already is acked again with its position`() {
        let ann = stage.member("ann")
        stage.publish(ann, 1...3)
        _ = stage.takeFrames(ann)
        stage.publish(ann, 2...2)
        #expect(stage.takeFrames(ann).acks == [.init(cseq: 2, seq: 2, at: HubStage.newYear, id: .numbered(2), isDuplicate: true)])
        #expect(stage.log.rooms[.lobby]?.head == 3 && stage.hub.figures.duplicates == 1)
    }

    @Test mutating func `a publication that cannot be looked up is not acked, and the client sends it again`() {
        let ann = stage.member("ann", device: 1)
        stage.publish(ann, 1...2)
        _ = stage.takeFrames(ann)
        stage.log.isReadable = false
        stage.publish(ann, 1...1)
        #expect(stage.takeFrames(ann).acks.isEmpty)
        stage.log.isReadable = true
        stage.publish(ann, 1...1)
        #expect(stage.takeFrames(ann).acks.map(\.seq) == [1])
    }

    @Test mutating func `a publication that retention has removed is acked without its position`() {
        let ann = stage.member("ann")
        stage.publish(ann, 1...3)
        if let reply = stage.log.trim(.lobby, to: 0) { stage.give(.log(reply)) }
        _ = stage.takeFrames(ann)
        stage.publish(ann, 2...3)
        #expect(
            stage.takeFrames(ann).acks == [
                .init(cseq: 2, seq: 0, at: 0, id: nil, isDuplicate: true),
                .init(cseq: 3, seq: 0, at: 0, id: .numbered(3), isDuplicate: true),
            ])
    }

    @Test mutating func `a hole is reported once for a run of publications, and none of them is accepted`() {
        let ann = stage.member("ann")
        stage.publish(ann, 1...1)
        stage.publish(ann, 3...6)
        #expect(stage.takeFrames(ann).filter { if case .hole = $0 { true } else { false } } == [.hole(.lobby, expected: 2)])
        stage.publish(ann, 2...6)
        #expect(stage.takeFrames(ann).acks.map(\.cseq) == [2, 3, 4, 5, 6])
        stage.publish(ann, 9...9)
        #expect(stage.takeFrames(ann) == [.hole(.lobby, expected: 7)])
    }

    @Test mutating func `a hole is reported again to a client that repeats it after a while`() {
        let ann = stage.member("ann")
        stage.publish(ann, 3...4)
        #expect(stage.takeFrames(ann) == [.hole(.lobby, expected: 1)])
        stage.publish(ann, 3...4)
        #expect(stage.takeFrames(ann).isEmpty)
        stage.pass(.seconds(10))
        stage.publish(ann, 3...4)
        #expect(stage.takeFrames(ann) == [.hole(.lobby, expected: 1)])
    }

    @Test mutating func `a publication that is being written is not stored twice`() {
        let ann = stage.member("ann")
        stage.holdsLog = true
        stage.publish(ann, 1...2)
        stage.publish(ann, 1...2)
        stage.answer()
        #expect(stage.takeFrames(ann).acks.map(\.cseq) == [1, 2] && stage.log.rooms[.lobby]?.head == 2)
    }

    @Test mutating func `numbers begin at 1`() {
        let (zero, least) = (stage.member("ann"), stage.member("bob"))
        stage.handle(zero, .publish(.lobby, .void(0)))
        stage.handle(least, .publish(.lobby, Publication(cseq: .min, id: .numbered(1), sent: 0, content: nil)))
        #expect(stage.closed[zero] == 4100 && stage.closed[least] == 4100)
    }

    @Test mutating func `a huge number is a hole like any other`() {
        let ann = stage.member("ann")
        stage.handle(ann, .publish(.lobby, Publication(cseq: .max, id: .numbered(1), sent: 0, content: nil)))
        #expect(stage.takeFrames(ann) == [.hole(.lobby, expected: 1)])
    }

    // MARK: One append at a time

    @Test mutating func `publications that come while an append is pending are collected into the next one`() {
        let (ann, bob) = (stage.member("ann"), stage.member("bob"))
        stage.holdsLog = true
        stage.publish(ann, 1...1)
        stage.publish(bob, 1...2)
        stage.publish(ann, 2...2)
        #expect(stage.orders.count == 1)
        stage.answer(1)
        guard case .append(.lobby, _, let records)? = stage.orders.first else { return #expect(Bool(false), "no append") }
        #expect(records.count == 3 && stage.orders.count == 1)
        stage.answer()
        let received = stage.takeFrames(bob)
        #expect(received.acks.map(\.seq) == [2, 3] && received.entries == [1, 2, 3, 4])
        // Entries that were committed together are sent together.
        #expect(received.count(where: { if case .entries = $0 { true } else { false } }) == 2)
    }

    @Test mutating func `many entries are sent in frames of limited size`() {
        var policy = HubPolicy()
        policy.pageBytes = 1000
        stage = HubStage(policy)
        let (ann, bob) = (stage.member("ann"), stage.member("bob"))
        stage.holdsLog = true
        stage.publish(ann, 1...6)
        stage.answer()
        let received = stage.takeFrames(bob)
        #expect(received.entries == [1, 2, 3, 4, 5, 6] && received.count == 4)
    }

    @Test mutating func `an answer to another append changes nothing`() {
        let ann = stage.member("ann")
        stage.holdsLog = true
        stage.publish(ann, 1...1)
        stage.give(.log(.appended(.lobby, batch: 12345)), .log(.notAppended(.lobby, batch: 12345)))
        #expect(stage.takeFrames(ann).isEmpty)
        stage.answer()
        #expect(stage.takeFrames(ann).acks.count == 1)
    }

    // MARK: Voids

    @Test mutating func `a void uses its number and is not delivered`() {
        let (ann, bob) = (stage.member("ann"), stage.member("bob"))
        stage.handle(ann, .publish(.lobby, .void(1)))
        stage.publish(ann, 2...2)
        let received = stage.takeFrames(ann)
        #expect(
            received.acks == [
                .init(cseq: 1, seq: 0, at: HubStage.newYear, id: .numbered(1)),
                .init(cseq: 2, seq: 1, at: HubStage.newYear, id: .numbered(2)),
            ])
        #expect(stage.takeFrames(bob).entries == [1])
        #expect(stage.log.rooms[.lobby]?.marks[.numbered(ann.number)]?.high == 2)
    }

    @Test mutating func `a void is accepted from a client without the write right, too`() {
        stage.grants = [Grant("*", [.read])]
        let ann = stage.member("ann")
        stage.publish(ann, 1...2)
        let received = stage.takeFrames(ann)
        #expect(received.codes == [.rights] && received.last == .hole(.lobby, expected: 1))
        stage.handle(ann, .publish(.lobby, .void(1)))
        #expect(stage.takeFrames(ann).acks.map(\.cseq) == [1])
    }
}
