import RoomHistory

/// A valid history of one room, which tests change to break a rule.
struct HistoryTale {
    static let room = "abc"
    var events: [HistoryEvent] = []

    static func item(_ seq: Int64, _ id: String, device: String = "d1", cseq: Int64? = nil, text: String? = nil) -> HistoryItem {
        HistoryItem(seq: seq, id: id, device: device, cseq: cseq ?? seq, digest: HistoryDigest.of((text ?? id).utf8))
    }

    /// Ann sends three messages; Bob and she have them all.
    static var good: HistoryTale {
        var tale = HistoryTale()
        let items = [item(1, "m1"), item(2, "m2"), item(3, "m3")]
        tale.notify("ann", .replaced, [], seq: 0)
        tale.notify("bob", .replaced, [], seq: 0)
        for item in items {
            tale.events.append(.submitted(item.id, digest: item.digest, room: room, who: "ann"))
            tale.events.append(.queued(item.id, cseq: item.cseq, device: "d1", room: room, who: "ann"))
            tale.events.append(.acked(item.id, epoch: "e1", seq: item.seq, room: room, who: "ann"))
        }
        for who in ["ann", "bob"] { tale.notify(who, .applied, items) }
        for who in ["ann", "bob"] {
            tale.notify(who, .store, items, seq: 3)
            tale.events.append(.names(.outbox, [], room: room, who: who))
            tale.events.append(.names(.members, ["ann", "bob"], room: room, who: who))
        }
        tale.notify("hub", .log, items, seq: 1)
        tale.events.append(.names(.present, ["bob", "ann"], room: room, who: "hub"))
        tale.events.append(.counted("cuts", 3, who: "watch"))
        return tale
    }

    mutating func notify(_ who: String, _ what: HistoryEvent.Kind, _ items: [HistoryItem] = [], epoch: String = "e1", seq: Int64? = nil) {
        events.append(.entries(what, items, epoch: epoch, seq: seq, room: Self.room, who: who))
    }

    /// Changes the last event of a kind from a writer.
    mutating func change(_ who: String, _ what: HistoryEvent.Kind, _ change: (inout HistoryEvent) -> Void) {
        guard let place = events.lastIndex(where: { $0.who == who && $0.what == what }) else { preconditionFailure("no such event") }
        change(&events[place])
    }

    /// Removes all events of a kind from a writer.
    mutating func remove(_ who: String, _ what: HistoryEvent.Kind, id: String? = nil) {
        events.removeAll { $0.who == who && $0.what == what && (id == nil || $0.id == id) }
    }

    /// Removes the first entries from Bob's stored ones.
    mutating func loseOfStore(_ count: Int, limit: Int64? = nil) {
        change("bob", .store) { store in
            store.items = store.items.map { Array($0.dropFirst(count)) }
            store.limit = limit
        }
    }

    /// Inserts events before the final dumps.
    mutating func insert(_ events: [HistoryEvent]) {
        let place = self.events.firstIndex { $0.what == .store } ?? self.events.endIndex
        self.events.insert(contentsOf: events, at: place)
    }

    func judged(minimums: [String: Int64] = [:]) -> HistoryVerdict {
        var checker = HistoryChecker(minimums: minimums)
        for event in events { checker.note(event) }
        return checker.judged()
    }
}
