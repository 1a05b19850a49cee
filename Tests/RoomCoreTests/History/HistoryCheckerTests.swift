import RoomHistory
import Testing

/// Each test takes a valid history, breaks it in one way, and expects the checker to report the fault.
@Suite struct HistoryCheckerTests {
    private func expect(_ words: String, after spoil: (inout HistoryTale) -> Void, _ location: SourceLocation = #_sourceLocation) {
        var tale = HistoryTale.good
        spoil(&tale)
        let verdict = tale.judged()
        #expect(verdict.violations.contains { $0.contains(words) }, "\(verdict)", sourceLocation: location)
    }

    private func expectClean(after change: (inout HistoryTale) -> Void, _ location: SourceLocation = #_sourceLocation) {
        var tale = HistoryTale.good
        change(&tale)
        let verdict = tale.judged()
        #expect(verdict.isClean, "\(verdict)", sourceLocation: location)
    }

    @Test func `a valid history has no violations`() { expectClean { _ in } }

    @Test func `an acked message is in the log under the number that was reported`() {
        expect("acked to ann at 3 of abc, where the log has m3") { $0.change("ann", .acked) { $0.id = "m2" } }
        expect("acked to ann at 9 of abc, and the log has nothing there") { $0.change("ann", .acked) { $0.seq = 9 } }
        expect("an epoch e9 that no log had") { $0.change("ann", .acked) { $0.epoch = "e9" } }
    }

    @Test func `an ack without a number means that retention has removed the message`() {
        expect("m9 was acked to ann, and abc never had it") { tale in
            tale.insert([.submitted("m9", digest: "", room: "abc", who: "ann"), .acked("m9", epoch: "e1", seq: 0, room: "abc", who: "ann")])
        }
        expectClean { $0.change("ann", .acked) { $0.seq = 0 } }
    }

    @Test func `a message is in a log once`() {
        expect("the log of abc has m1 twice, again at 4") { tale in
            tale.change("hub", .log) { $0.items?.append(HistoryTale.item(4, "m1", cseq: 4)) }
        }
    }

    @Test func `a number of a device is in a log once, and after the lower ones`() {
        expect("number 3 of device d1 twice, at 4") { tale in
            tale.change("hub", .log) { $0.items?.append(HistoryTale.item(4, "m4", cseq: 3)) }
        }
        expect("number 2 of device d1 after 3, at 4") { tale in
            tale.change("hub", .log) { $0.items?.append(HistoryTale.item(4, "m4", cseq: 2)) }
        }
    }

    @Test func `a log has no gaps`() {
        expect("the log of abc goes from 1 to 3") { tale in tale.change("hub", .log) { $0.items?.remove(at: 1) } }
    }

    @Test func `a log has all entries that it retains`() {
        expect("the log of abc begins at 2, though it retains what is from 1 on") { tale in
            tale.change("hub", .log) { _ = $0.items?.removeFirst() }
        }
        expect("the log of abc went back from 3 to 2") {
            $0.notify("hub", .log, [HistoryTale.item(1, "m1"), HistoryTale.item(2, "m2")], seq: 1)
        }
    }

    @Test func `a log's past does not change`() {
        expect("the log of abc had m3 at 3, and later m9") { tale in
            tale.notify("hub", .log, [HistoryTale.item(1, "m1"), HistoryTale.item(2, "m2"), HistoryTale.item(3, "m9")], seq: 1)
        }
    }

    @Test func `a log has no message that was not submitted, and no changed one`() {
        expect("the log of abc has m3 at 3, which nobody submitted") { $0.remove("ann", .submitted, id: "m3") }
        expect("saw m3 in abc, which nobody submitted") { $0.remove("ann", .submitted, id: "m3") }
        expect("m3 in the log of abc is not what was submitted") { $0.change("ann", .submitted) { $0.digest = "else" } }
    }

    @Test func `clients see the same entries as the log has`() {
        expect("ann saw") { tale in tale.change("bob", .applied) { $0.items?[1].digest = "else" } }
        expect("bob saw m4 at 4 in abc, the log has nothing there") { tale in
            tale.change("bob", .applied) { $0.items?.append(HistoryTale.item(4, "m4")) }
        }
        expect("bob saw") { tale in tale.change("bob", .store) { $0.items?[2] = HistoryTale.item(3, "m2") } }
    }

    @Test func `a client receives entries without gaps and repeats`() {
        expect("bob in abc got 5 after 3") {
            $0.insert([.entries(.applied, [HistoryTale.item(5, "m5")], epoch: "e1", room: "abc", who: "bob")])
        }
        expect("bob in abc got 3 after 3") {
            $0.insert([.entries(.applied, [HistoryTale.item(3, "m3")], epoch: "e1", room: "abc", who: "bob")])
        }
        expect("bob in abc applied: from 1 to 3") { tale in tale.change("bob", .applied) { $0.items?.remove(at: 1) } }
        expect("bob in abc paged: from 1 to 3") { tale in
            tale.insert([.entries(.paged, [HistoryTale.item(1, "m1"), HistoryTale.item(3, "m3")], epoch: "e1", room: "abc", who: "bob")])
        }
    }

    @Test func `a new epoch begins with a snapshot, and a snapshot never goes back`() {
        expect("bob in abc went from epoch e1 to e2 without being told") { tale in
            tale.change("bob", .applied) { $0.epoch = "e2" }
            tale.events.insert(.entries(.applied, [HistoryTale.item(1, "m1")], epoch: "e1", room: "abc", who: "bob"), at: 2)
        }
        expect("bob in abc was taken back from 3 to 2 by a snapshot") {
            $0.insert([.entries(.replaced, [HistoryTale.item(2, "m2")], epoch: "e1", seq: 2, room: "abc", who: "bob")])
        }
        expect("bob in abc was given a snapshot to 2 with a cursor of 3") {
            $0.insert([.entries(.replaced, [HistoryTale.item(2, "m2")], epoch: "e1", seq: 3, room: "abc", who: "bob")])
        }
        expectClean { $0.insert([.entries(.replaced, [HistoryTale.item(3, "m3")], epoch: "e1", seq: 3, room: "abc", who: "bob")]) }
    }

    @Test func `a store that is opened again has what the app was told`() {
        let started = HistoryEvent(.started, who: "bob")
        func opened(_ seq: Int64) -> HistoryEvent { .entries(.opened, epoch: "e1", seq: seq, room: "abc", who: "bob") }
        expect("bob in abc was told 3, and has only 2 stored") { $0.insert([started, opened(2)]) }
        expectClean { $0.insert([started, opened(3)]) }
        // The commit was the last thing that the program did, so its report was lost with the program.
        expectClean { tale in
            tale.change("bob", .applied) { $0.items?.removeLast() }
            tale.insert([started, opened(3)])
        }
        expect("bob in abc has 3 of e1 stored, and was told 2") { tale in
            tale.change("bob", .applied) { $0.items?.removeLast() }
            tale.insert([opened(3)])
        }
        // An older copy of the store may be behind by any amount.
        expectClean { tale in
            tale.insert([
                HistoryEvent(.restored, who: "bob"), opened(1),
                .entries(.applied, [HistoryTale.item(2, "m2"), HistoryTale.item(3, "m3")], epoch: "e1", room: "abc", who: "bob"),
            ])
        }
        // The copy may have lacked the room, and a log that went back unnoticed ends before the client's cursor.
        expectClean { tale in
            tale.insert([
                HistoryEvent(.restored, who: "bob"), started,
                .entries(.replaced, [HistoryTale.item(2, "m2")], epoch: "e1", seq: 2, room: "abc", who: "bob"),
                .entries(.applied, [HistoryTale.item(3, "m3")], epoch: "e1", room: "abc", who: "bob"),
            ])
            tale.loseOfStore(1)
        }
    }

    @Test func `a store has all entries that its app was told of`() {
        expect("bob in abc has lost what it had from 1 on: its store begins at 4") { tale in tale.change("bob", .store) { $0.items = [] } }
        expect("bob in abc has lost what it had from 1 on: its store begins at 2") { tale in
            tale.change("bob", .store) { _ = $0.items?.removeFirst() }
        }
        // A store with a limit drops only the oldest entries, and no more than the limit requires.
        expectClean { $0.loseOfStore(1, limit: 2) }
        expect("bob in abc has lost what it had from 2 on: its store begins at 3") { tale in
            tale.loseOfStore(2, limit: 2)
        }
        // A snapshot replaced the entries.
        let snapshot = HistoryEvent.entries(.replaced, [HistoryTale.item(3, "m3")], epoch: "e1", seq: 3, room: "abc", who: "bob")
        expectClean { tale in
            tale.insert([snapshot])
            tale.loseOfStore(2)
        }
        // Pages that were stored belong to the store. Others do not.
        func page(_ seq: Int64?) -> HistoryEvent {
            .entries(.paged, [HistoryTale.item(1, "m1"), HistoryTale.item(2, "m2")], epoch: "e1", seq: seq, room: "abc", who: "bob")
        }
        expect("bob in abc has lost what it had from 1 on: its store begins at 3") { tale in
            tale.insert([snapshot, page(1)])
            tale.loseOfStore(2)
        }
        expectClean { tale in
            tale.insert([snapshot, page(3), page(nil)])
            tale.loseOfStore(2)
        }
        // A forgotten room need not be in the store.
        expectClean { tale in
            tale.insert([HistoryEvent(.forgot, who: "bob", room: "abc"), snapshot])
            tale.loseOfStore(2)
        }
    }

    @Test func `a store that is opened again has lost nothing`() {
        func opened(_ count: Int64, limit: Int64? = nil) -> HistoryEvent {
            var event = HistoryEvent.entries(.opened, epoch: "e1", seq: 3, room: "abc", who: "bob")
            (event.count, event.limit) = (count, limit)
            return event
        }
        let started = HistoryEvent(.started, who: "bob")
        expect("bob in abc has lost what it had from 1 on: its store begins at 2") { $0.insert([started, opened(2)]) }
        expectClean { $0.insert([started, opened(3)]) }
        expectClean { tale in
            tale.insert([started, opened(2, limit: 2)])
            tale.loseOfStore(1)
        }
        // An older copy had fewer entries, and from then on the store must have those.
        expectClean { tale in
            tale.insert([HistoryEvent(.restored, who: "bob"), opened(2)])
            tale.loseOfStore(1)
        }
        expect("bob in abc has lost what it had from 2 on: its store begins at 4") { tale in
            tale.insert([HistoryEvent(.restored, who: "bob"), opened(2)])
            tale.change("bob", .store) { $0.items = [] }
        }
    }

    @Test func `at the end all stores end where the log does`() {
        expect("bob in abc ends at 2 of e1, the log at 3 of e1") { tale in
            tale.change("bob", .applied) { $0.items?.removeLast() }
            tale.change("bob", .store) { ($0.items, $0.seq) = ([HistoryTale.item(1, "m1"), HistoryTale.item(2, "m2")], 2) }
        }
        expect("bob in abc has 2 of e1 stored, and was told 3 of e1") { tale in
            tale.change("bob", .store) { ($0.items, $0.seq) = ([HistoryTale.item(1, "m1"), HistoryTale.item(2, "m2")], 2) }
        }
        expect("bob in abc has entries up to 2, and a cursor of 3") { tale in tale.change("bob", .store) { _ = $0.items?.removeLast() } }
        expect("bob in abc store: from 1 to 3") { tale in tale.change("bob", .store) { $0.items?.remove(at: 1) } }
    }

    @Test func `at the end no message is pending`() {
        expect("ann in abc: 1 still wait to be sent, first m3") { tale in tale.change("ann", .outbox) { $0.names = ["m3"] } }
    }

    @Test func `a message in the outbox is stored, or its app was told another outcome`() {
        let submitted = HistoryEvent.submitted("m9", digest: "", room: "abc", who: "ann")
        let queued = HistoryEvent.queued("m9", cseq: 4, device: "d1", room: "abc", who: "ann")
        expect("m9 was in the outbox, is not in the log, and its app was told nothing") { $0.insert([submitted, queued]) }
        expectClean { $0.insert([submitted]) }
        expectClean { $0.insert([submitted, .message(.refused, "m9", room: "abc", who: "ann")]) }
        expectClean { $0.insert([submitted, queued, .failed("m9", isUncertain: false, text: "", room: "abc", who: "ann")]) }
        expectClean { $0.insert([submitted, queued, .message(.discarded, "m9", room: "abc", who: "ann")]) }
        expectClean { $0.insert([submitted, queued, HistoryEvent(.restored, who: "ann")]) }
        expectClean { $0.insert([submitted, queued, HistoryEvent(.slept, who: "ann")]) }
        expect("m9 was in the outbox") { $0.insert([HistoryEvent(.slept, who: "ann"), submitted, queued]) }
        expect("m9 was in the outbox") { tale in
            tale.insert([
                submitted, queued, .failed("m9", isUncertain: false, text: "", room: "abc", who: "ann"),
                .message(.retried, "m9", room: "abc", who: "ann"),
            ])
        }
        // The report of a discard may have been lost with the program. The report of a loss may not.
        expect("m9 was in the outbox") { $0.insert([submitted, queued, HistoryEvent(.started, who: "ann")]) }
        expectClean { tale in
            tale.insert([submitted, queued, .message(.discarding, "m9", room: "abc", who: "ann"), HistoryEvent(.started, who: "ann")])
        }
    }

    @Test func `an app is told that its message is stored, unless it was killed before`() {
        expect("m3 is in the log, and its app was never told") { $0.remove("ann", .acked, id: "m3") }
        expectClean { tale in
            tale.remove("ann", .acked, id: "m3")
            tale.insert([HistoryEvent(.started, who: "ann"), .entries(.opened, epoch: "e1", seq: 3, room: "abc", who: "ann")])
        }
    }

    @Test func `a message reported as failed is not in the log, unless its outcome was unknown`() {
        expect("m3 was told to have failed or been discarded, and is in the log") { tale in
            tale.remove("ann", .acked, id: "m3")
            tale.insert([.failed("m3", isUncertain: false, text: "", room: "abc", who: "ann")])
        }
        expect("m3 was told to have failed or been discarded, and is in the log") { tale in
            tale.remove("ann", .acked, id: "m3")
            tale.insert([.message(.discarded, "m3", room: "abc", who: "ann")])
        }
        // Retention has removed it, so the hub could no longer report it.
        expectClean { tale in
            tale.remove("ann", .acked, id: "m1")
            tale.change("hub", .log) { $0.seq = 2 }
            tale.insert([.message(.discarded, "m1", room: "abc", who: "ann")])
        }
    }

    @Test func `only an older copy of a store takes back an ack`() {
        let failed = HistoryEvent.failed("m3", isUncertain: false, text: "", room: "abc", who: "ann")
        let uncertain = HistoryEvent.failed("m3", isUncertain: true, text: "", room: "abc", who: "ann")
        let discarded = HistoryEvent.message(.discarded, "m3", room: "abc", who: "ann")
        expect("m3 was acked, and then its app was told failed") { $0.insert([failed]) }
        expect("m3 was acked, and then its app was told failed") { $0.insert([uncertain]) }
        expect("m3 was acked, and then its app was told discarded") { $0.insert([discarded]) }
        expectClean { $0.insert([HistoryEvent(.restored, who: "ann"), failed]) }
    }

    @Test func `a message is uncertain only where the evidence of its outcome was lost`() {
        let uncertain = HistoryEvent.failed("m3", isUncertain: true, text: "", room: "abc", who: "ann")
        func change(_ tale: inout HistoryTale, id: String = "m3") {
            tale.remove("ann", .acked, id: id)
            var event = uncertain
            event.id = id
            tale.insert([event])
        }
        expect("m3 was told to be uncertain, and the log has it still") { change(&$0) }
        // The evidence is lost with a restored store, a restored log or an absence.
        for cause in [HistoryEvent.Kind.restored, .slept] {
            expectClean { tale in
                tale.insert([HistoryEvent(cause, who: "bob"), .entries(.opened, epoch: "e1", seq: 3, room: "abc", who: "bob")])
                change(&tale)
            }
        }
        expectClean { tale in
            tale.insert([HistoryEvent(.rewound, who: "hub", room: "other")])
            change(&tale)
        }
        // The hub cannot find what retention has removed.
        expectClean { tale in
            change(&tale, id: "m1")
            tale.change("hub", .log) { $0.seq = 2 }
        }
        expect("m3 was told to be uncertain, and the log has it still") { tale in
            change(&tale)
            tale.change("hub", .log) { $0.seq = 2 }
        }
        let lost: [HistoryEvent] = [
            .submitted("m9", digest: "", room: "abc", who: "ann"), .queued("m9", cseq: 4, device: "d1", room: "abc", who: "ann"),
        ]
        let doubt = HistoryEvent.failed("m9", isUncertain: true, text: "", room: "abc", who: "ann")
        expect("m9 was told to be uncertain, and nothing was ever lost that could tell") { $0.insert(lost + [doubt]) }
        // The hub does not remember for ever which message a voided number had.
        let failed = HistoryEvent.failed("m9", isUncertain: false, text: "", room: "abc", who: "ann")
        expectClean { $0.insert(lost + [failed, doubt]) }
        expect("m9 was told to be uncertain") {
            $0.insert(lost + [failed, .message(.retried, "m9", room: "abc", who: "ann"), lost[1], doubt])
        }
    }

    @Test func `names that look the same but differ in bytes are two rooms and two writers`() {
        let (one, other) = ("caf\u{E9}", "cafe\u{301}")
        func tale(_ hubRoom: String) -> HistoryTale {
            var tale = HistoryTale.good
            for place in tale.events.indices where tale.events[place].room != nil { tale.events[place].room = one }
            for place in tale.events.indices where tale.events[place].who == "hub" { tale.events[place].room = hubRoom }
            return tale
        }
        #expect(tale(one).judged().isClean)
        #expect(tale(other).judged().violations.contains { $0.contains("which nobody submitted") })
        expect("got 1 after 3") { tale in
            for place in tale.events.indices where tale.events[place].who == "bob" { tale.events[place].who = one }
            let items = tale.events.first { $0.who == one && $0.what == .applied }?.items ?? []
            tale.insert([
                .entries(.replaced, [], epoch: "e1", seq: 0, room: "abc", who: other),
                .entries(.applied, items, epoch: "e1", room: "abc", who: other),
                .entries(.applied, items, epoch: "e1", room: "abc", who: other),
            ])
        }
        expectClean { tale in
            for place in tale.events.indices where tale.events[place].who == "bob" { tale.events[place].who = one }
            let items = tale.events.first { $0.who == one && $0.what == .applied }?.items ?? []
            tale.insert([.entries(.applied, items, epoch: "e1", room: "abc", who: other)])
        }
    }

    @Test func `a log that went back unnoticed reuses numbers, and at the end all clients agree`() {
        let other = HistoryTale.item(3, "m7", device: "d7", cseq: 1)
        func change(_ tale: inout HistoryTale, isTold: Bool, seenBy readers: [String]) {
            let log = tale.events.first { $0.what == .log }
            tale.insert([.submitted("m7", digest: other.digest, room: "abc", who: "server")])
            guard var before = log else { return }
            before.at = 1
            var event = HistoryEvent(.rewound, who: "hub", room: "abc")
            event.epoch = "e1"
            tale.insert([before] + (isTold ? [event] : []))
            let items = Array((before.items ?? []).prefix(2)) + [other]
            tale.change("hub", .log) { if $0.at != 1 { $0.items = items } }
            for who in readers {
                tale.insert([.entries(.replaced, items, epoch: "e1", seq: 3, room: "abc", who: who)])
                tale.change(who, .store) { $0.items = items }
            }
        }
        expectClean { change(&$0, isTold: true, seenBy: ["ann", "bob"]) }
        expect("had m3 at 3, and later m7") { change(&$0, isTold: false, seenBy: ["ann", "bob"]) }
        expect("bob in abc has another entry at 3 than m7, which the log has") { change(&$0, isTold: true, seenBy: ["ann"]) }
    }

    @Test func `a log that went back unnoticed is recorded under the epoch that it gets when that is noticed`() {
        let other = HistoryTale.item(3, "m7", device: "d7", cseq: 1)
        func change(_ tale: inout HistoryTale, seen: HistoryItem) {
            tale.insert([.submitted("m7", digest: other.digest, room: "abc", who: "server")])
            guard var before = tale.events.first(where: { $0.what == .log }) else { return }
            before.at = 1
            var event = HistoryEvent(.rewound, who: "hub", room: "abc")
            event.epoch = "e1"
            let first = Array((before.items ?? []).prefix(2))
            tale.insert([before, event, .entries(.replaced, first + [seen], epoch: "e1", seq: 3, room: "abc", who: "eve")])
            tale.change("hub", .log) { if $0.at != 1 { ($0.epoch, $0.items) = ("e2", first + [other]) } }
            for who in ["ann", "bob"] {
                tale.insert([.entries(.replaced, first + [other], epoch: "e2", seq: 3, room: "abc", who: who)])
                tale.change(who, .store) { ($0.epoch, $0.items) = ("e2", first + [other]) }
            }
        }
        expectClean { change(&$0, seen: other) }
        expect("eve saw") { change(&$0, seen: HistoryTale.item(3, "m7", device: "d8", cseq: 1)) }
    }

    @Test func `a rewound log has another epoch and may have lost acked messages`() {
        func change(_ tale: inout HistoryTale, isTold: Bool) {
            if isTold { tale.insert([HistoryEvent(.rewound, who: "hub", room: "abc")]) }
            let kept = [HistoryTale.item(1, "m1")]
            for who in ["ann", "bob"] {
                tale.insert([.entries(.replaced, kept, epoch: "e2", seq: 1, room: "abc", who: who)])
                tale.change(who, .store) { ($0.epoch, $0.items, $0.seq) = ("e2", kept, 1) }
            }
            tale.change("hub", .log) { ($0.epoch, $0.items) = ("e2", kept) }
        }
        expectClean { change(&$0, isTold: true) }
        expect("abc has an epoch e1 that no log had") { change(&$0, isTold: false) }
        // If the old log was recorded too, its acks are checked against it.
        expect("m3 was acked to ann at 3 of abc, where the log has m8") { tale in
            change(&tale, isTold: true)
            let old = [HistoryTale.item(1, "m1"), HistoryTale.item(2, "m2"), HistoryTale.item(3, "m8")]
            tale.insert([.entries(.log, old, epoch: "e1", seq: 1, room: "abc", who: "hub")])
        }
    }

    @Test func `entries that retention has removed are not missing`() {
        expectClean { tale in tale.change("hub", .log) { ($0.items, $0.seq) = ([HistoryTale.item(3, "m3")], 3) }
            // No one can report any more that they were stored, but they were acked.
        }
    }

    @Test func `every client is told who is present`() {
        expect("bob in abc: told that [\"bob\"] are present, in truth [\"ann\", \"bob\"]") { tale in
            tale.change("bob", .members) { $0.names = ["bob"] }
        }
    }

    @Test func `a fault that a writer reports itself is passed on`() {
        expect("ann: the disk is on fire") { $0.insert([.broken("the disk is on fire", who: "ann")]) }
    }

    @Test func `a run with too few events of a kind fails`() {
        #expect(HistoryTale.good.judged(minimums: ["cuts": 3]).isClean)
        #expect(
            HistoryTale.good.judged(minimums: ["cuts": 4, "holes": 1]).violations == [
                "too little happened: cuts 3, at least 4 wanted", "too little happened: holes 0, at least 1 wanted",
            ])
    }

    @Test func `two submissions with the same ID make a history invalid`() {
        expect("m3 was submitted twice") { $0.insert([.submitted("m3", digest: "", room: "abc", who: "bob")]) }
    }
}
