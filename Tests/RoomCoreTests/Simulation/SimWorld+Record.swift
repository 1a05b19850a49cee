import RoomCore

/// The app's view of its rooms, as `RoomRecord` gives it, and the entries that a reader takes.
struct SimRoom {
    /// The only reader's number.
    static let reader: UInt64 = 1
    var record = RoomRecord()
    /// The last entry that the reader took.
    ///
    /// Nil if it is to start again.
    var last: Int64?
    /// Messages that the app follows.
    var followed: [UInt64: MessageID] = [:]
}

extension SimWorld {
    /// The app joins a room, for the first time or again.
    func open(_ room: RoomName, _ request: JoinRequest, _ client: SimClient) {
        if client.rooms[room] == nil { client.rooms[room, default: SimRoom()].record.addReader(SimRoom.reader, after: nil) }
        client.rooms[room]?.record.join(request)
    }

    func follow(_ id: MessageID, sent: Int64, _ content: Publication.Content, in room: RoomName, _ client: SimClient) {
        guard client.rooms[room] != nil else { return }
        client.rooms[room]?.record.submit(id, sent: sent, content)
        let follower = UInt64(client.messages)
        if client.rooms[room]?.record.follow(id, as: follower) != true {
            broken("\(client.who) submitted \(id), which is not in the outbox")
        }
        client.rooms[room]?.followed[follower] = id
    }

    /// The store's contents of a room are known.
    ///
    /// A reader that waited for them continues.
    func load(_ stored: StoredRoom, of room: RoomName, _ client: SimClient) {
        client.rooms[room]?.record.load(stored)
        read(room, client)
    }

    func note(_ news: RoomsNews, _ client: SimClient) {
        guard let room = news.room else {
            for room in client.rooms.keys { client.rooms[room]?.record.handle(news) }
            return
        }
        client.rooms[room]?.record.handle(news)
        if case .stored(_, let id, let position) = news, let record = client.rooms[room]?.record, let follower = record.follower(of: id),
            let known = record.stage(for: follower), known.position != position
        {
            broken("\(client.who) was told that \(id) is stored, and shows \(known)")
        }
        // The reader is sometimes slow. This uses no random number, so the world is the same without a reader.
        if now % 3 > 0 { read(room, client) }
    }

    /// Reads what is available.
    ///
    /// No entry is missing or repeated, unless the reader is told to start again.
    private func read(_ room: RoomName, _ client: SimClient) {
        guard var seen = client.rooms[room] else { return }
        defer { client.rooms[room] = seen }
        for _ in 0..<10_000 {
            switch seen.record.step(SimRoom.reader) {
            case .update(.entry(let entry))?:
                if let last = seen.last, entry.seq != last + 1 { broken("a reader of \(client.who) got \(entry.seq) after \(last)") }
                if let stored = client.store.rooms[room]?.entries.first(where: { $0.seq == entry.seq }), stored.id != entry.id {
                    broken("a reader of \(client.who) got another entry \(entry.seq) than the one on disk")
                }
                seen.last = entry.seq
            case .update(.replaced)?: seen.last = seen.record.status.first - 1
            case .read(let position, let generation)?:
                let stored = client.store.rooms[room] ?? SimStore.Room()
                if stored.cursor.epoch == position.epoch, stored.first <= position.seq + 1, position.seq <= stored.cursor.seq {
                    let entries = stored.entries.filter { $0.seq > position.seq }.prefix(RoomRecord.readerLimit)
                    seen.record.fill(SimRoom.reader, Array(entries), after: position.seq, generation: generation)
                    // The store is behind the reader only if the room was forgotten. The replacement is reported later.
                    if entries.isEmpty { return }
                } else {
                    let update = seen.record.skip(SimRoom.reader, after: position.seq, to: stored.first, generation: generation)
                    if update == nil { return }
                    seen.last = stored.first - 1
                }
            case .wait?: return
            case nil: return broken("\(client.who) has no reader")
            }
        }
        broken("a reader of \(client.who) reads without end")
    }

    /// At the end the app's view matches its disk, and the app knows the outcome of each message.
    func judgeRooms(of client: SimClient) {
        for (name, room) in client.rooms.sorted(by: { $0.key < $1.key }) {
            read(name, client)
            let stored = client.store.rooms[name] ?? SimStore.Room()
            let (status, last) = (room.record.status, client.rooms[name]?.last)
            let (cursor, shownCursor) = (stored.cursor, status.cursor)
            if shownCursor != cursor { broken("\(client.who) shows \(shownCursor) in \(name), and has \(cursor) on disk") }
            // A reader that started at the live end has taken nothing if no entry came.
            if let last, last != cursor.seq { broken("a reader of \(client.who) stopped at \(last) of \(cursor) in \(name)") }
            let waiting = stored.outbox.filter { $0.publication.content != nil }.map(\.publication.id)
            // A log that went back may have lost acked messages. They are shown as stored until the log is as long again.
            let isLost = counts[.rewinds] != nil || counts[.unseen] != nil
            let shown = status.outbox.filter { !isLost || $0.stage.position == nil }.map(\.id)
            if shown != waiting { broken("\(client.who) shows \(shown) in \(name), and has \(waiting) on disk") }
            for (follower, id) in room.followed where room.record.refusal(for: follower) == nil {
                switch room.record.stage(for: follower) {
                case .stored?, .seen?, .failed?, .discarded?: break
                case let stage: broken("\(client.who) does not know what became of \(id): \(stage as Any)")
                }
            }
        }
    }
}
