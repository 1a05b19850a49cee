import MachineCore

// "Publishing".
extension HubMachine {
    /// Handles a client's publication.
    ///
    /// - Parameter flaw: What is wrong with a publication of which only the number could be read.
    mutating func publish(
        _ publication: Publication, flaw: String? = nil, bytes: Int64, in name: RoomName, from id: ConnectionID, at now: Moment,
        into effects: inout [HubEffect]
    ) {
        guard let connection = connections[id], let identity = connection.identity, let device = connection.hello?.device else { return }
        let cseq = publication.cseq
        guard cseq > 0 else { return end(id, Refusal(.malformed, "numbers start at 1"), at: now, into: &effects) }
        func refuse(_ code: Refusal.Code, _ retry: Refusal.Retry, _ text: String) {
            // The client will send again from here by itself, so later publications must not request that again.
            if retry != .never, rooms[name]?.authors[device]?.taken == cseq - 1 { rooms[name]?.authors[device]?.asked = now }
            say(Refusal(code, retry: retry, room: name, cseq: cseq, text), to: id, into: &effects)
        }
        guard !isStopping else { return refuse(.stopping, .reconnect, "the hub is stopping") }
        guard let standing = rooms[name]?.assess(cseq, of: device, from: id, at: now, patience: policy.patience) else {
            return refuse(.notJoined, .now, "not joined")
        }
        guard standing.hasState else { return refuse(.early, .now, "wait for the room's state") }
        guard standing.isOpen, standing.isMarkKnown || isMarkKnown(of: device, in: name, into: &effects) else {
            return refuse(.storage, .after(retry(in: name)), "the room does not accept publications at the moment")
        }
        let wait = rateWait(bytes, connection, identity.user, at: now)
        switch standing.place {
        case .stillBeyond, nil: break
        case .beyond(let expected):
            counts.holes += 1
            effects.append(.send(.hole(name, expected: expected), to: id))
        case _ where wait > 0: return refuse(.rate, .after(wait), "too many messages or bytes")
        case .pending: break
        case .stored:
            if let room = rooms[name], var ack = room.authors[device]?.highAck, ack.cseq == cseq {
                // A repeated publication is usually the last one, whose ack was lost.
                ack.isDuplicate = true
                // An entry that retention has deleted has no position any more.
                if ack.seq < room.base { (ack.seq, ack.at) = (0, 0) }
                counts.duplicates += 1
                effects.append(.send(.acks(name, epoch: room.epoch, [ack]), to: id))
                break
            }
            guard mayAsk(id, most: policy.questions) else { return refuse(.rate, .after(1000), "too many requests at once") }
            counts.duplicates += 1
            find(.duplicate(device, cseq: cseq), device, cseq, for: id, in: name, into: &effects)
        case .next:
            let verdict = judge(publication, rights: standing.rights, at: now)
            if let refusal = flaw.map({ Refusal(.malformed, $0) }) ?? verdict {
                // A permanently refused publication costs as much as an accepted one.
                takeRate(bytes, of: id, identity.user, from: connection.address, at: now)
                return refuse(refusal.code, refusal.retry, refusal.text)
            }
            guard connection.pending < policy.limits.window, standing.unacked <= policy.limits.roomWindow,
                standing.pending < policy.pendingRecords, standing.pendingBytes < policy.pendingBytes
            else { return refuse(.rate, .after(200), "too many messages without an ack") }
            let size = size(of: publication, by: identity.user, in: name, hasMark: standing.hasMark)
            if let refusal = shortage(for: publication, size, of: identity.user, in: name, at: now) {
                return refuse(refusal.code, refusal.retry, refusal.text)
            }
            connections[id]?.pending += 1
            if space < .max { space -= size.disk }
            users[identity.user]?.meter.disk.take(size.user, ofDay: policy.userDay, at: now.offset.wholeNanoseconds)
            let isAdmin = standing.rights.contains(.admin)
            take(publication, of: device, by: identity.user, isAdmin: isAdmin, in: name, from: id, at: now, into: &effects)
        }
        if wait == 0 { takeRate(bytes, of: id, identity.user, from: connection.address, at: now) }
    }

    /// Handles a publication of the server itself.
    mutating func publish(
        _ publication: Publication, of device: DeviceID, by user: UserName, in name: RoomName, for request: ServerRequest, at now: Moment,
        into effects: inout [HubEffect]
    ) {
        func refuse(_ refusal: Refusal) {
            counts.refused[refusal.code, default: 0] += 1
            effects.append(.answer(request, .refused(refusal)))
        }
        var (publication, cseq) = (publication, publication.cseq)
        func refuse(_ code: Refusal.Code, _ retry: Refusal.Retry, _ text: String) {
            refuse(Refusal(code, retry: retry, room: name, cseq: cseq, text))
        }
        guard !isStopping else { return refuse(.stopping, .reconnect, "the hub is stopping") }
        guard cseq >= 0 else { return refuse(.malformed, .never, "numbers start at 1") }
        guard ensure(name, at: now, into: &effects) else { return refuse(.count, .after(1000), "too many rooms are open") }
        defer { watchIdle(name, at: now) }
        switch rooms[name]?.phase {
        case .open where rooms[name]?.isRewound == false: break
        case .open,
            .opening where rooms[name]?.isDown == false:
            guard rooms[name]?.requests.count ?? 0 < policy.requests else { return refuse(.rate, .after(1000), "too many requests wait") }
            rooms[name]?.requests.append((request, device, user, publication))
            return
        default: return refuse(.storage, .after(retry(in: name)), "the room does not accept publications at the moment")
        }
        guard !isAnothers(device, than: user) else { return refuse(.device, .never, "another user's device") }
        enroll(device, of: user, in: name)
        guard let author = rooms[name]?.authors[device], author.user == user else {
            // Until the log names the owner, the device may belong to the second user.
            let isKnown = rooms[name]?.authors[device]?.knowledge == .known
            return refuse(.device, isKnown ? .never : .after(1000), "another user's device")
        }
        guard author.waiting.count + author.pending.count < policy.requests else {
            return refuse(.rate, .after(1000), "too many requests wait")
        }
        guard isMarkKnown(of: device, in: name, into: &effects) else {
            rooms[name]?.authors[device]?.waiting.append(.init(request: request, publication: publication))
            return
        }
        defer { retireAuthor(device, in: name) }
        if cseq == 0 {
            cseq = (rooms[name]?.authors[device]?.taken ?? 0) + 1
            publication.cseq = cseq
        }
        switch rooms[name]?.authors[device]?.place(of: cseq, at: now, patience: policy.patience) {
        case .stored:
            counts.duplicates += 1
            find(.repeated(request, device, cseq: cseq), device, cseq, for: nil, in: name, into: &effects)
        case .pending: rooms[name]?.authors[device]?.pending.append((request, cseq))
        case .beyond, .stillBeyond, nil: refuse(.early, .now, "an earlier number is missing")
        case .next:
            let hasMark = rooms[name]?.authors[device]?.taken ?? 0 > 0
            if let refusal = judge(publication, rights: .member, at: now) {
                return refuse(refusal.code, refusal.retry, refusal.text)
            }
            let size = size(of: publication, by: user, in: name, hasMark: hasMark)
            if let refusal = shortage(for: publication, size, of: nil, in: name, at: now) {
                return refuse(refusal.code, refusal.retry, refusal.text)
            }
            guard hasSpace(in: name) else { return refuse(.rate, .after(200), "too many messages wait already") }
            rooms[name]?.authors[device]?.pending.append((request, cseq))
            if space < .max { space -= size.disk }
            take(publication, of: device, by: user, isAdmin: true, in: name, from: nil, at: now, into: &effects)
        }
    }

    /// Returns why a publication cannot be accepted, now or ever; nil if it can.
    ///
    /// A void is always accepted, because it only uses its number. Otherwise the publications after it would wait for ever.
    private func judge(_ publication: Publication, rights: RoomRights, at now: Moment) -> Refusal? {
        guard let content = publication.content else { return nil }
        let lengths = 1...RoomsLimits.typeLength
        guard rights.contains(.write) else { return Refusal(.rights, "no right to write") }
        guard Int64(content.payload.bytes.count) <= policy.limits.body else { return Refusal(.size, "the payload is too long") }
        guard lengths.contains(content.type.utf8.count), content.about.map({ lengths.contains($0.kind.utf8.count) }) ?? true else {
            return Refusal(.size, "a type must have 1 to \(RoomsLimits.typeLength) bytes")
        }
        let clock = clock(at: now)
        // Whether the log may have forgotten the device depends on the log's time, not on the current calendar.
        let oldest = (logTime > 0 ? logTime : clock) - RoomsLimits.window
        guard publication.sent >= oldest else { return Refusal(.tooOld, "submitted too long ago") }
        // The client's clock may be right and the calendar behind: then waiting helps.
        let latest = clock + RoomsLimits.future
        guard publication.sent <= latest else {
            let distance = min(publication.sent, RoomsLimits.number) - latest
            return Refusal(.tooNew, retry: .after(max(distance, 1)), "submitted in the future")
        }
        return nil
    }

    /// Returns which quota has no space for a publication now; nil if all have.
    ///
    /// A user's quota does not apply to the server itself. A void needs no disk space, except for the first one of a device, so it passes
    /// when nothing else does. But it counts for the user's quota.
    private func shortage(
        for publication: Publication, _ size: (user: Int64, disk: Int64), of user: UserName?, in name: RoomName, at now: Moment
    ) -> Refusal? {
        let bytes = size.disk
        if let user, let disk = users[user]?.meter.disk {
            let wait = disk.wait(for: size.user, ofDay: policy.userDay, at: now.offset.wholeNanoseconds)
            if wait > 0 { return Refusal(.quota, retry: .after(wait), "the user has used up the daily quota") }
        }
        guard bytes > 0 else { return nil }
        if publication.content != nil, policy.roomBytes - bytes < rooms[name]?.bytes ?? 0 {
            return Refusal(.quota, retry: .after(60_000), "the room is full")
        }
        if space < bytes { return Refusal(.quota, retry: .after(10_000), "the hub is full: its disk, or its share of it, is used up") }
        return nil
    }

    /// Returns the bytes that a publication costs its user, and the approximate growth on disk.
    ///
    /// A device's first void in a room creates a row for the device, and perhaps one for the room. Later voids update that row.
    private func size(of publication: Publication, by user: UserName, in name: RoomName, hasMark: Bool) -> (user: Int64, disk: Int64) {
        let size = publication.storedSize
        guard publication.content == nil else { return (size, size) }
        let row = size + Int64(name.text.utf8.count + user.text.utf8.count)
        return hasMark ? (size, 0) : (row, row)
    }

    private func hasSpace(in name: RoomName) -> Bool {
        rooms[name].map { $0.sequencer.count < policy.pendingRecords && $0.sequencer.bytes < policy.pendingBytes } ?? false
    }

    private mutating func take(
        _ publication: Publication, of device: DeviceID, by user: UserName, isAdmin: Bool, in name: RoomName, from id: ConnectionID?,
        at now: Moment, into effects: inout [HubEffect]
    ) {
        counts.published += 1
        // Within a room, times never go back whatever the calendar does, and no entry is stored as already forgotten.
        let time = max(clock(at: now), rooms[name]?.lastTime ?? 0, logTime)
        let number = nextNumber()
        let append = rooms[name]?.take(
            publication, of: device, by: user, isAdmin: isAdmin, at: time, from: id, into: name, batch: number)
        if let append { effects.append(.log(append)) }
    }

    private mutating func find(
        _ purpose: Question.Purpose, _ device: DeviceID, _ cseq: Int64, for id: ConnectionID?, in name: RoomName,
        into effects: inout [HubEffect]
    ) {
        let number = nextNumber()
        ask(Question(room: name, connection: id, generation: rooms[name]?.generation ?? 0, purpose: purpose), number)
        effects.append(.log(.find(number, name, device, cseq: cseq)))
    }

    /// Returns the milliseconds after which to try again in a room that accepts nothing now.
    func retry(in name: RoomName) -> Int64 {
        guard let room = rooms[name], room.isDown else { return 200 }
        return pause(after: room.failures).wholeMilliseconds + 100
    }

    // MARK: Rates

    private func rateWait(_ bytes: Int64, _ connection: Connection, _ user: UserName, at now: Moment) -> Int64 {
        let time = now.offset.wholeNanoseconds
        return max(
            connection.meter.wait(forMessageOf: bytes, policy.connection, at: time),
            users[user]?.meter.wait(forMessageOf: bytes, policy.user, at: time) ?? 0,
            addresses[connection.address]?.meter.wait(forMessageOf: bytes, policy.address, at: time) ?? 0)
    }

    private mutating func takeRate(_ bytes: Int64, of id: ConnectionID, _ user: UserName, from address: String, at now: Moment) {
        let time = now.offset.wholeNanoseconds
        connections[id]?.meter.take(messageOf: bytes, policy.connection, at: time)
        users[user]?.meter.take(messageOf: bytes, policy.user, at: time)
        addresses[address]?.meter.take(messageOf: bytes, policy.address, at: time)
    }
}
