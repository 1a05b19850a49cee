import RoomCore
import RoomHistory

/// The end of all misfortune, and how long it takes until all is well again.
extension SimWorld {
    /// Ends all misfortune, and lets every app join every room.
    func heal() {
        notify("the world heals")
        isHostile = false
        hub.clock = 0
        hub.diesAfter = nil
        readCalendar()
        for client in clients {
            client.clock = 0
            client.diesAfter = nil
            client.link?.drag = 0
            // With a new connection come the rights that a new token has.
            if plan.faults.contains(.rights), let link = client.link { cut(link) }
            feed(client, .calendar(calendar(of: client)))
            for room in rooms where client.wishes[room] == nil { join(room, client) }
        }
        let waiting = clients.map { $0.store.rooms.values.reduce(0) { $0 + $1.outbox.count(where: \.waits) } }.max() ?? 0
        // Two with one device would replace each other for ever: the double comes in alone, and then the original alone, unless they
        // have parted by then.
        let originals = clients.indices.filter { place in
            clients[(place + 1)...].contains { $0.store.device == clients[place].store.device }
        }.map { clients[$0] }
        for client in originals { setAside(client) }
        if !originals.isEmpty { run(until: now + 30_000) }
        for client in clients where clients.contains(where: { $0 !== client && $0.store.device == client.store.device }) {
            if originals.contains(where: { $0 === client }) { continue }
            putAway(client)
        }
        for client in originals {
            client.isAway = false
            start(client)
        }
        // What has gathered meanwhile takes its time on a slow link.
        settle(backlog: Int64(waiting) * (plan.latency + plan.disk))
    }

    /// Puts an app away, as it is.
    private func setAside(_ client: SimClient) {
        kill(client, restartIn: 0)
        client.isAway = true
    }

    private func putAway(_ client: SimClient) {
        setAside(client)
        notify("\(client.who) is put away")
        writeOutbox(of: client)
    }

    // MARK: How long it takes

    /// Until everybody has everything, counted from the end of the last trouble.
    private static let together: Int64 = 30_000
    /// Until everybody was told who is present, counted from when the hub knew (G5).
    private static let presence: Int64 = 8000

    /// Lets the time pass in which all becomes well, and sees that it does not take longer than was promised.
    private func settle(backlog: Int64) {
        let healed = now
        lastTrouble = max(lastTrouble, healed)
        var (together, seen): (Int64?, Int64?) = (nil, nil)
        while now < healed + 60_000 {
            run(until: now + 500)
            together = isTogether ? together ?? now : nil
            seen = seesAll ? seen ?? now : nil
        }
        // That it never comes to that is seen by the checker.
        if let together, together - lastTrouble > Self.together + backlog {
            broken("it took \(together - lastTrouble) ms until everybody had everything")
        }
        if let seen, seen - max(presenceChanged, healed) > Self.presence {
            broken("it took \(seen - presenceChanged) ms until everybody was told who is present")
        }
    }

    /// Who is present in truth.
    var present: [String] { clients.filter { !$0.isAway }.map { "\($0.user)/\($0.connection ?? "nowhere")" } }

    /// Whether every outbox is empty, and every store has come to the end of its log.
    private var isTogether: Bool {
        clients.allSatisfy { client in
            client.isAway
                || rooms.allSatisfy { room in
                    guard let stored = client.store.rooms[room], let log = hub.log.rooms[room], case .live = client.phase(of: room) else {
                        return false
                    }
                    return stored.cursor == LogPosition(epoch: log.epoch, seq: log.head) && !stored.outbox.contains { $0.waits }
                }
        }
    }

    /// Whether everybody was told who is present.
    private var seesAll: Bool {
        let truth = present.sorted()
        return clients.allSatisfy { client in client.isAway || rooms.allSatisfy { client.members(of: $0).sorted() == truth } }
    }
}

extension OutboxRow {
    /// Whether the hub is still to hear of it.
    var waits: Bool { if case .failed = state { false } else { true } }
}
