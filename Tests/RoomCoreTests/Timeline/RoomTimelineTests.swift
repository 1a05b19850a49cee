import MachineCore
import RoomCore
import Testing

private let (ann, bob, eve) = (UserName("ann")!, UserName("bob")!, UserName("eve")!)

@Suite struct RoomTimelineTests {
    /// A message, or an entry about another one.
    private func entry(
        _ seq: Int64, _ user: UserName = bob, type: String = "chat.text", about: Int64? = nil, _ text: String = "{}", admin: Bool = false
    ) -> Entry {
        Entry(
            seq: seq, id: MessageID(Bits128(high: 0, low: UInt64(seq))), device: DeviceID(Bits128(high: 0, low: 1)), cseq: seq, user: user,
            at: seq, sent: seq, type: type, about: about.map { Reference(kind: "x", seq: $0) }, payload: .json(Array(text.utf8)),
            isAdmin: admin)
    }
    private func edit(_ seq: Int64, of other: Int64, _ text: String, _ user: UserName = bob, admin: Bool = false) -> Entry {
        entry(seq, user, type: "holdfast.edit", about: other, text, admin: admin)
    }
    private func delete(_ seq: Int64, of other: Int64, _ user: UserName = bob, admin: Bool = false) -> Entry {
        entry(seq, user, type: "holdfast.delete", about: other, admin: admin)
    }
    private func react(_ seq: Int64, to other: Int64, _ user: UserName, _ key: String, on: Bool = true) -> Entry {
        entry(seq, user, type: "holdfast.react", about: other, #"{"key":"\#(key)","on":\#(on)}"#)
    }
    private func timeline(_ entries: Entry..., reader: UserName? = ann) -> Timeline {
        var timeline = Timeline(reader: reader)
        for entry in entries { timeline.apply(entry) }
        return timeline
    }
    private func text(_ timeline: Timeline, _ seq: Int64) -> String? {
        timeline[seq: seq].map { String(decoding: $0.payload.bytes, as: UTF8.self) }
    }

    @Test func `messages are in the room's order, whatever their types are`() {
        let timeline = timeline(entry(2), entry(1, type: "no.such"), entry(4, type: "holdfast.later"), entry(3, about: 1))
        #expect(timeline.map(\.seq) == [1, 2, 3, 4])
        #expect(timeline[seq: 1]?.type == "no.such")
    }

    @Test func `a repeated entry changes nothing`() {
        var timeline = timeline(entry(1), edit(2, of: 1, "2"), react(3, to: 1, eve, "+"))
        let before = timeline
        for again in [entry(1), edit(2, of: 1, "2"), react(3, to: 1, eve, "+")] { #expect(timeline.apply(again) == nil) }
        #expect(timeline == before)
    }

    @Test func `a message has the text of its author's last edit`() {
        #expect(text(timeline(entry(1), edit(2, of: 1, "2"), edit(3, of: 1, "3")), 1) == "3")
        #expect(text(timeline(entry(1), edit(3, of: 1, "3"), edit(2, of: 1, "2")), 1) == "3")
    }

    @Test func `only the author and a user with the right may edit and delete`() {
        let stranger = timeline(entry(1), edit(2, of: 1, "2", eve), delete(3, of: 1, eve))
        #expect(text(stranger, 1) == "{}")
        #expect(stranger[seq: 1]?.isEdited == false && stranger[seq: 1]?.isDeleted == false)
        #expect(text(timeline(entry(1), edit(2, of: 1, "2", eve, admin: true)), 1) == "2")
        #expect(timeline(entry(1), delete(3, of: 1, eve, admin: true))[seq: 1]?.isDeleted == true)
    }

    @Test func `a deleted message keeps its place and shows no reactions`() {
        let timeline = timeline(entry(1), react(2, to: 1, eve, "+"), delete(3, of: 1), entry(4))
        #expect(timeline.map(\.seq) == [1, 4])
        #expect(timeline[seq: 1]?.isDeleted == true)
        #expect(timeline[seq: 1]?.reactions == [])
    }

    @Test func `each user counts once for each reaction key, by that user's last entry`() {
        let timeline = timeline(
            entry(1), react(2, to: 1, eve, "+"), react(3, to: 1, ann, "+"), react(4, to: 1, eve, "-"), react(5, to: 1, eve, "+"),
            react(6, to: 1, ann, "+", on: false), react(7, to: 1, ann, "?"))
        let reactions = timeline[seq: 1]?.reactions ?? []
        #expect(reactions.map(\.key) == ["-", "+", "?"])
        #expect(reactions.map(\.users) == [[eve], [eve], [ann]])
    }

    @Test(arguments: ["", "{}", "[]", #"{"key":""}"#, #"{"key":7}"#, String(repeating: "[", count: 500)])
    func `an invalid reaction is ignored`(payload: String) {
        let timeline = timeline(entry(1), entry(2, eve, type: "holdfast.react", about: 1, payload))
        #expect(timeline.count == 1)
        #expect(timeline[seq: 1]?.reactions == [])
    }

    @Test func `an entry about an entry that is no message, or about a later message, has no effect`() {
        let timeline = timeline(entry(1), edit(2, of: 1, "2"), edit(3, of: 2, "3"), edit(4, of: 5, "4"), entry(5), edit(6, of: 6, "6"))
        #expect(timeline.map(\.seq) == [1, 5])
        #expect(text(timeline, 1) == "2" && text(timeline, 5) == "{}")
    }

    @Test func `an entry about a message that is loaded later takes effect then`() {
        var timeline = timeline(
            entry(9), edit(10, of: 2, "late"), react(11, to: 2, eve, "+"), delete(12, of: 1), edit(13, of: 3, "no", eve))
        timeline.apply([entry(1), entry(2), entry(3), entry(4)])
        #expect(timeline.map(\.seq) == [1, 2, 3, 4, 9])
        #expect(text(timeline, 2) == "late" && text(timeline, 3) == "{}")
        #expect(timeline[seq: 2]?.reactions.map(\.users) == [[eve]])
        #expect(timeline[seq: 1]?.isDeleted == true)
    }

    @Test func `each new entry returns the messages that it changed`() {
        var timeline = timeline(entry(1))
        #expect(timeline.apply(entry(2)) == .added(2))
        #expect(timeline.apply(edit(3, of: 1, "3")) == .changed(1))
        #expect(timeline.apply(edit(4, of: 1, "4", eve)) == nil)
        #expect(timeline.apply(react(5, to: 1, eve, "+", on: false)) == nil)
        #expect(timeline.apply(react(6, to: 1, eve, "+")) == .changed(1))
        #expect(timeline.apply(delete(7, of: 1)) == .changed(1))
        #expect(timeline.apply(edit(8, of: 1, "8")) == nil)
    }

    @Test func `unread messages are those of others after the marker that are not deleted`() {
        var timeline = timeline(entry(1), entry(2), entry(3, ann), entry(4), react(5, to: 4, eve, "+"), edit(6, of: 4, "6"), entry(7))
        #expect(timeline.unread == 4)
        timeline.read(upTo: 2)
        #expect(timeline.unread == 2)
        timeline.read(upTo: 1)
        #expect(timeline.unread == 2 && timeline.readUpTo == 2)
        timeline.apply(delete(8, of: 7))
        #expect(timeline.unread == 1)
        timeline.apply(delete(9, of: 7))
        #expect(timeline.unread == 1)
        timeline.begin(reader: bob)
        #expect(timeline.unread == 1)
        timeline.apply(entry(10, ann))
        #expect(timeline.unread == 2)
        timeline.read(upTo: .max)
        #expect(timeline.unread == 0)
    }

    @Test func `the timeline is the same for each order of entries`() {
        var generator = SplitMix64(seed: 5)
        for _ in 0..<200 {
            let users = [ann, bob, eve]
            let entries = (1...Int64(30)).map { seq -> Entry in
                let (user, other) = (users.randomElement(using: &generator)!, Int64.random(in: 1...30, using: &generator))
                switch Int.random(in: 0..<6, using: &generator) {
                case 0: return edit(seq, of: other, "\(seq)", user, admin: seq % 7 == 0)
                case 1: return delete(seq, of: other, user, admin: seq % 5 == 0)
                case 2, 3: return react(seq, to: other, user, ["+", "-"].randomElement(using: &generator)!, on: seq % 3 != 0)
                default: return entry(seq, user)
                }
            }
            var (one, other) = (Timeline(reader: ann, readUpTo: 4), Timeline(reader: ann))
            one.apply(entries)
            let cut = Int.random(in: 0...30, using: &generator)
            other.apply(entries[cut...])
            other.read(upTo: 4)
            other.apply(entries[..<cut].shuffled(using: &generator))
            #expect(one.messages == other.messages)
            #expect(one.unread == other.unread)
            #expect(one.unread == one.count { $0.seq > 4 && $0.original.user != ann && !$0.isDeleted })
        }
    }

    @Test func `messages that were dropped look the same when they are loaded again`() {
        let entries = [
            entry(1), entry(2), entry(3), edit(4, of: 1, "4"), react(5, to: 2, eve, "+"), entry(6), delete(7, of: 3), entry(8),
        ]
        var whole = Timeline(reader: ann)
        for entry in entries { whole.apply(entry) }
        var timeline = whole
        timeline.forget(first: 4)
        #expect(timeline.map(\.seq) == [8] && timeline.unread == 1)
        for late in [edit(9, of: 1, "9"), react(10, to: 2, bob, "+"), edit(11, of: 6, "11")] {
            whole.apply(late)
            #expect(timeline.apply(late) == nil)
        }
        timeline.apply(entries[..<7])
        #expect(timeline.messages == whole.messages && timeline.unread == whole.unread)
        timeline.forget(first: .max)
        #expect(timeline.isEmpty && timeline.unread == 0)
    }

    @Test func `entries about messages that are not loaded are kept up to some megabytes, the latest longest`() {
        let text = String(repeating: "x", count: 60_000)
        var timeline = timeline(entry(1), edit(2, of: 1, text), entry(3), entry(1000))
        timeline.forget(first: 2)
        for seq in Int64(4)...80 { timeline.apply(edit(seq + 100, of: seq, text)) }
        timeline.apply([entry(1), entry(4), entry(80)])
        #expect(timeline.map(\.isEdited) == [false, false, true, false])
    }

    @Test func `messages of the own device are not unread, whoever the reader is`() {
        var timeline = timeline(entry(1), reader: nil)
        #expect(timeline.unread == 1)
        timeline.begin(reader: nil, device: DeviceID(Bits128(high: 0, low: 1)))
        #expect(timeline.unread == 0)
    }

    @Test func `twenty thousand entries forwards, and as many backwards in pages, take little time`() {
        var timeline = Timeline(reader: ann)
        for seq in Int64(20_001)...40_000 { timeline.apply(entry(seq)) }
        for page in stride(from: Int64(20_000), to: 0, by: -500) { timeline.apply((page - 499...page).map { entry($0) }) }
        #expect(timeline.count == 40_000 && timeline.unread == 40_000)
        #expect(timeline[seq: 77]?.seq == 77)
        #expect(timeline.place(of: 40_001) == nil)
    }
}
