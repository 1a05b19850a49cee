import RoomCore
import RoomHistory

extension SimWorld {
    func haveFault() {
        guard isHostile else { return }
        agenda.plan(.fault, at: now + 1 + jitter(2 * plan.faultEvery))
        guard let fault = pick(plan.faults), let client = pick(clients) else { return }
        switch fault {
        case .cut: if let link = client.link { cut(link) }
        case .halfOpen: if let link = client.link { halfOpen(link) }
        case .slowLink:
            count(.slowLinks)
            client.link?.extraDelay = jitter(1500)
        case .clientDies: if oneIn(3) { kill(client, restartIn: jitter(3000)) } else { client.diesAfter = Int(jitter(12)) }
        case .clientRestored: restore(client)
        case .clientDouble: startCopy(client)
        case .clientDisk: client.isFullUntil = now + jitter(3000)
        case .clientClock:
            count(.clocks)
            client.clock = pick([0, 7_200_000, -7_200_000, 100 * 86_400_000, -100 * 86_400_000, jitter(10_000)]) ?? 0
            feed(client, .calendar(calendar(of: client)))
        case .hubDies: if oneIn(3) { killHub(restartIn: jitter(4000)) } else { hub.diesAfter = Int(jitter(25)) }
        case .hubStops:
            guard hub.machine != nil else { return }
            count(.hubStops)
            feedHub(.stop)
            agenda.plan(.hub(life: hub.life, .stopped), at: now + 6000 + jitter(2000))
        case .hubDisk: hub.failsUntil = now + jitter(2000)
        case .hubReads: hub.readsFailUntil = now + jitter(3000)
        case .hubClock:
            count(.clocks)
            let day: Int64 = 86_400_000
            hub.clock = pick([0, 3_000_000, -3_000_000, 2 * day, -2 * day, 20 * day, 100 * day, -100 * day, jitter(10_000)]) ?? 0
            readCalendar()
        case .logTrimmed: trim()
        case .logRewound: rewind()
        case .logGoesBack: goBack()
        case .backup:
            client.backup = client.store
            for room in rooms { hub.backups[room] = hub.log.rooms[room] }
        case .timePasses:
            guard oneIn(4) else { return }
            count(.absences)
            absence += 50 * 86_400_000 + jitter(100 * 86_400_000)
            notify("much time has passed")
            readCalendar()
            for client in clients {
                write(HistoryEvent(.slept, who: client.who, at: now))
                feed(client, .calendar(calendar(of: client)))
            }
        case .rights: if let link = client.link { cut(link) }
        case .tokenEnds: feed(client, .token("dev:\(client.user)"))
        }
    }

    /// Restarts a client with an older copy of its store.
    private func restore(_ client: SimClient) {
        guard let backup = client.backup else { return client.backup = client.store }
        kill(client, restartIn: jitter(2000))
        count(.restores)
        client.store = backup
        write(HistoryEvent(.restored, who: client.who, at: now))
    }

    /// Starts a second client with a copy of a client's store without the outbox.
    private func startCopy(_ client: SimClient) {
        guard clients.count < 6, !clients.contains(where: { $0 !== client && $0.user == client.user }) else { return }
        count(.doubles)
        let twin = SimClient(who: "\(client.who)/\(clients.count)", user: client.user, store: client.store)
        write(HistoryEvent(.restored, who: twin.who, at: now))
        twin.store.dropOutbox()
        twin.clock = client.clock
        twin.wantedRooms = client.wantedRooms
        clients.append(twin)
        agenda.plan(.startClient(twin, life: 0), at: now + jitter(3000))
    }

    private func trim() {
        guard let name = pick(rooms), let room = hub.log.rooms[name], room.base <= room.head else { return }
        count(.trims)
        let base = room.base + 1 + jitter(room.head - room.base + 1)
        hub.log.rooms[name]?.base = base
        notify("\(name) now begins at \(base)")
        guard hub.machine != nil, room.isOpen else { return }
        hub.jobs.append(.reply(.trimmed(name, base: base, below: hub.log.rooms[name]?.below)))
        planLog()
    }

    /// Restarts the hub with an older copy of a room's log, under a new epoch.
    private func rewind() {
        guard let name = pick(rooms), let backup = hub.backups[name], hub.machine != nil else { return }
        killHub(restartIn: jitter(2000))
        guard let room = hub.log.rooms[name], room.epoch == backup.epoch else { return }
        count(.rewinds)
        writeLog(name, room)
        hub.lines[name, default: []].append(room)
        hub.log.rewind(name, to: backup, epoch: newEpoch())
        hub.backups[name] = nil
        hub.rewoundUnnoticed.remove(name)
        write(HistoryEvent(.rewound, who: "hub", at: now, room: name.text))
        notify("\(name) is put back to \(backup.head)")
    }

    /// Restarts the hub with an older copy of a room's log unnoticed: the log keeps the epoch of the copy.
    private func goBack() {
        guard let name = pick(rooms), hub.machine != nil else { return }
        guard let backup = hub.backups[name] else { return hub.backups[name] = hub.log.rooms[name] }
        killHub(restartIn: jitter(2000))
        guard let room = hub.log.rooms[name] else { return }
        // A copy may be restored twice, and after a newer one.
        if oneIn(2) { hub.backups[name] = nil }
        count(.unseen)
        writeLog(name, room)
        hub.lines[name, default: []].append(room)
        hub.rewoundUnnoticed.insert(name)
        hub.log.rewind(name, to: backup)
        var event = HistoryEvent(.rewound, who: "hub", at: now, room: name.text)
        event.epoch = names.of(backup.epoch)
        write(event)
        notify("\(name) goes back to \(backup.head) of \(names.of(backup.epoch)), and nobody knows")
    }
}
