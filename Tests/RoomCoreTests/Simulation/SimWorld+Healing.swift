import RoomCore
import RoomHistory

/// The end of all faults, and the time until the world has recovered.
extension SimWorld {
    /// Ends all faults and lets every app join every room.
    func heal() {
        notify("the world heals")
        isHostile = false
        hub.clock = 0
        hub.diesAfter = nil
        readCalendar()
        for client in clients {
            client.clock = 0
            client.diesAfter = nil
            client.link?.extraDelay = 0
            // A new token gives the rights back, and it needs a new connection.
            if plan.faults.contains(.rights), let link = client.link { cut(link) }
            feed(client, .calendar(calendar(of: client)))
            for room in rooms where client.wantedRooms[room] == nil { join(room, client) }
        }
        let waiting = clients.map { $0.store.rooms.values.reduce(0) { $0 + $1.outbox.count(where: \.waits) } }.max() ?? 0
        // Two clients with one device would replace each other for ever. The copy connects alone, and then the original alone, unless one
        // has a new device by then.
        let originals = clients.indices.filter { place in
            clients[(place + 1)...].contains { $0.store.device == clients[place].store.device }
        }.map { clients[$0] }
        for client in originals { stop(client) }
        if !originals.isEmpty { run(until: now + 30_000) }
        for client in clients where clients.contains(where: { $0 !== client && $0.store.device == client.store.device }) {
            if originals.contains(where: { $0 === client }) { continue }
            retire(client)
        }
        for client in originals {
            client.isAway = false
            start(client)
        }
        // Sending the pending messages takes time on a slow link.
        settle(backlog: Int64(waiting) * (plan.latency + plan.disk))
    }

    /// Stops an app and keeps its store.
    private func stop(_ client: SimClient) {
        kill(client, restartIn: 0)
        client.isAway = true
    }

    private func retire(_ client: SimClient) {
        stop(client)
        notify("\(client.who) is put away")
        writeOutbox(of: client)
    }

    // MARK: Time limits

    /// The longest time until all clients have all entries, counted from the end of the last fault.
    private static let together: Int64 = 30_000
    /// The longest time until all clients have the right members, counted from when the hub knew them (G5).
    private static let presence: Int64 = 8000

    /// Lets the world recover, and checks that this takes no longer than guaranteed.
    private func settle(backlog: Int64) {
        let healed = now
        lastTrouble = max(lastTrouble, healed)
        var (together, seen): (Int64?, Int64?) = (nil, nil)
        while now < healed + 60_000 {
            run(until: now + 500)
            together = isTogether ? together ?? now : nil
            seen = seesAll ? seen ?? now : nil
        }
        // The checker finds a world that never recovers.
        if let together, together - lastTrouble > Self.together + backlog {
            broken("it took \(together - lastTrouble) ms until everybody had everything")
        }
        if let seen, seen - max(presenceChanged, healed) > Self.presence {
            broken("it took \(seen - presenceChanged) ms until everybody was told who is present")
        }
    }

    /// The members who are really present.
    var present: [String] { clients.filter { !$0.isAway }.map { "\($0.user)/\($0.connection ?? "nowhere")" } }

    /// Whether every outbox is empty and every store has reached the end of its log.
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

    /// Whether all clients have the right members.
    private var seesAll: Bool {
        let truth = present.sorted()
        return clients.allSatisfy { client in client.isAway || rooms.allSatisfy { client.members(of: $0).sorted() == truth } }
    }
}

extension OutboxRow {
    /// Whether the row is still to be sent.
    var waits: Bool { if case .failed = state { false } else { true } }
}
