import ProtocolCore
import RoomCore
import RoomHistory

/// Records the history of the clients and the hub.
extension SimWorld {
    func write(_ event: HistoryEvent) {
        if isVerbose { history.append(event) }
        checker.note(event)
    }

    func broken(_ text: String) { write(.broken("\(text), at \(now)", who: "world", at: now)) }

    /// Records the store's contents, which an app reads when it starts.
    func noteStart(of client: SimClient) {
        write(HistoryEvent(.started, who: client.who, at: now))
        for (name, room) in client.store.rooms.sorted(by: { $0.key < $1.key }) {
            if room.cursor != .nowhere {
                let epoch = names.of(room.cursor.epoch)
                var opened = HistoryEvent.entries(.opened, epoch: epoch, seq: room.cursor.seq, room: name.text, who: client.who, at: now)
                (opened.count, opened.limit) = (Int64(room.entries.count), client.store.limit)
                write(opened)
            }
            for row in room.outbox { noteState(of: row, client) }
        }
    }

    private func noteState(of row: OutboxRow, _ client: SimClient) {
        switch row.state {
        case .queued: client.waiting.append((row.room, row.publication.id))
        case .voiding: break
        case .failed(let failure): noteFailure(row.room, row.publication.id, failure, client)
        }
    }

    private func noteFailure(_ room: RoomName, _ id: MessageID, _ failure: OutboxFailure, _ client: SimClient) {
        client.waiting.removeAll { $0.id == id }
        // A message older than the hub's memory of devices may have been stored before, but then its ack says so.
        let isUncertain = failure == .uncertain
        if failure.code == .tooNew { broken("\(client.who) gave up \(id), which was issued too early for the hub's clock") }
        client.failed.append((room, id, !isUncertain && failure != .expired))
        write(.failed(names.of(id), isUncertain: isUncertain, text: failure.text, room: room.text, who: client.who, at: now))
    }

    /// Handles a report to the app.
    func handle(_ news: RoomsNews, _ client: SimClient) {
        note(news, client)
        switch news {
        case .welcomed(_, let connection, _, let expires): (client.connection, client.expires) = (connection, expires)
        case .queued(let room, let id, let cseq):
            count(.queued)
            client.waiting.append((room, id))
            let device = names.of(client.store.device)
            write(.queued(names.of(id), cseq: cseq, device: device, room: room.text, who: client.who, at: now))
        case .sent: break
        case .stored(let room, let id, let position):
            client.waiting.removeAll { $0.id == id }
            client.failed.removeAll { $0.id == id }
            let epoch = names.of(position.epoch)
            write(.acked(names.of(id), epoch: epoch, seq: position.seq, room: room.text, who: client.who, at: now))
        case .failed(let room, let id, let failure):
            count(.failed)
            noteFailure(room, id, failure, client)
        case .refused(let room, let id, _):
            count(.refused)
            write(.message(.refused, names.of(id), room: room.text, who: client.who, at: now))
        case .discarded(let room, let id):
            count(.discarded)
            client.waiting.removeAll { $0.id == id }
            client.failed.removeAll { $0.id == id }
            write(.message(.discarded, names.of(id), room: room.text, who: client.who, at: now))
        case .appended(let room, let epoch, let entries):
            expect(client, room, has: LogPosition(epoch: epoch, seq: entries.last?.seq ?? 0))
            let items = entries.map { names.item($0) }
            write(.entries(.applied, items, epoch: names.of(epoch), room: room.text, who: client.who, at: now))
        case .replaced(let room, let cursor, let entries):
            expect(client, room, has: cursor)
            let items = entries.map { names.item($0) }
            write(.entries(.replaced, items, epoch: names.of(cursor.epoch), seq: cursor.seq, room: room.text, who: client.who, at: now))
        case .page(let room, _, let entries, _):
            count(.history)
            let items = entries.map { names.item($0) }
            // The entries that the page touches may not be on disk yet.
            guard let stored = client.store.rooms[room], stored.cursor.epoch != 0 else { return }
            let epoch = names.of(stored.cursor.epoch)
            write(.entries(.paged, items, epoch: epoch, seq: stored.first, room: room.text, who: client.who, at: now))
        case .renewed:
            count(.renewals)
            // Messages that were renumbered since have their old numbers in an older copy, and nothing could prove that they are the same.
            client.backup?.dropOutbox()
        case .phase, .members, .noPage, .typing, .read, .signal, .storeFailed: break
        }
    }

    /// Checks that what an app is told of is on disk.
    private func expect(_ client: SimClient, _ room: RoomName, has position: LogPosition) {
        let cursor = client.store.rooms[room]?.cursor ?? .nowhere
        if cursor.epoch != position.epoch || cursor.seq < position.seq {
            broken("\(client.who) was told about \(position) in \(room), and has \(cursor) on disk")
        }
        guard hub.lines[room] != nil, let stored = client.store.rooms[room] else { return }
        // A log that went back has other entries under the same numbers. No store may mix entries of both.
        let lines = hub.lines[room, default: []] + [hub.log.rooms[room]].compactMap { $0 }
        if !lines.contains(where: { $0.holds(stored) }) {
            broken("\(client.who) has entries of \(room) that were never in one log: \(stored.entries.map { names.of($0.id) })")
        }
    }

    // MARK: The end

    /// Records the final state of all stores and logs, and returns the verdict.
    func judge() -> HistoryVerdict {
        for client in clients where !client.isAway { writeEnd(of: client) }
        let causes: [SimCount] = [.restores, .doubles, .rewinds, .unseen, .absences]
        if counts[.renewals] != nil, causes.allSatisfy({ counts[$0] == nil }) { broken("a device was given up without a cause") }
        for room in rooms {
            if let log = hub.log.rooms[room] { writeLog(room, log) }
            write(.names(.present, present, room: room.text, who: "hub", at: now))
        }
        return checker.judged()
    }

    func writeLog(_ name: RoomName, _ room: SimLog.Room) {
        let items = room.entries.map { names.item($0) }
        write(.entries(.log, items, epoch: names.of(room.epoch), seq: room.base, room: name.text, who: "hub", at: now))
    }

    func writeOutbox(of client: SimClient) {
        for (name, room) in client.store.rooms.sorted(by: { $0.key < $1.key }) {
            write(
                .names(.outbox, room.outbox.filter(\.waits).map { names.of($0.publication.id) }, room: name.text, who: client.who, at: now))
        }
    }

    private func writeEnd(of client: SimClient) {
        writeOutbox(of: client)
        for name in rooms {
            let room = client.store.rooms[name] ?? SimStore.Room()
            let items = room.entries.map { names.item($0) }
            let epoch = names.of(room.cursor.epoch)
            var stored = HistoryEvent.entries(.store, items, epoch: epoch, seq: room.cursor.seq, room: name.text, who: client.who, at: now)
            stored.limit = client.store.limit
            write(stored)
            write(.names(.members, client.members(of: name), room: name.text, who: client.who, at: now))
            let phase = client.phase(of: name)
            if case .live = phase {} else { broken("\(client.who) is not live in \(name): \(phase as Any)") }
        }
        judgeRooms(of: client)
    }
}
