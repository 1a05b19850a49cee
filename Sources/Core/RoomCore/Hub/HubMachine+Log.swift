import MachineCore

// Answers of the log.
extension HubMachine {
    mutating func take(_ reply: LogReply, at now: Moment, into effects: inout [HubEffect]) {
        switch reply {
        case .opened(let name, let head): opened(name, head, at: now, into: &effects)
        case .notOpened(let name): notOpened(name, at: now, into: &effects)
        case .recalled(let name, let device, let mark): recalled(mark, of: device, in: name, at: now, into: &effects)
        case .notRecalled(let name, let device): notRecalled(device, in: name, at: now, into: &effects)
        case .appended(let name, let batch): appended(batch, to: name, at: now, into: &effects)
        case .notAppended(let name, let batch): notAppended(batch, to: name, at: now, into: &effects)
        case .fetched(let number, let entries, let base, let below):
            fetched(number, LogPage(entries, base: base, below: below), at: now, into: &effects)
        case .notFetched(let number, let isDamaged): notFetched(number, isDamaged: isDamaged, at: now, into: &effects)
        case .found(let number, let entry): found(entry, for: number, at: now, into: &effects)
        case .trimmed(let name, let base, let below): rooms[name]?.raiseBase(to: base, below: below)
        // A young log follows its calendar back.
        case .time(let time): logTime = min(max(time, 0), RoomsLimits.number)
        // Pending publications are left out until the next report; a quota is not more precise than that.
        case .weighed(let name, let bytes): rooms[name]?.bytes = bytes
        }
    }

    // MARK: Opening

    private mutating func opened(_ name: RoomName, _ log: LogHead, at now: Moment, into effects: inout [HubEffect]) {
        guard rooms[name]?.phase == .opening else { return }
        if rooms[name]?.isDown == true { counts.closedRooms -= 1 }
        let before = rooms[name]?.tail.bytes ?? 0
        let isOther = rooms[name]?.open(log) ?? false
        tailBytes += (rooms[name]?.tail.bytes ?? 0) - before
        let members = rooms[name]?.members.keys.sorted() ?? []
        if isOther {
            // A member that waits for a state gets it without a `lag`.
            let told = members.filter { rooms[name]?.members[$0]?.phase == .behind && connections[$0]?.isCongested == false }
            counts.lagged += UInt64(told.count)
            if !told.isEmpty { effects.append(.fanOut(.lag(name, head: log.head), to: told)) }
            for id in members where connections[id]?.isCongested == true { rooms[name]?.members[id]?.isLagged = true }
        }
        for id in members {
            // Ask now for marks that are no longer known, before they are needed.
            if let device = rooms[name]?.members[id]?.device { _ = isMarkKnown(of: device, in: name, into: &effects) }
            pursue(id, in: name, at: now, into: &effects)
        }
        let requests = rooms[name]?.requests ?? []
        rooms[name]?.requests = []
        for waiting in requests {
            publish(waiting.publication, of: waiting.device, by: waiting.user, in: name, for: waiting.request, at: now, into: &effects)
        }
        watchIdle(name, at: now)
    }

    private mutating func notOpened(_ name: RoomName, at now: Moment, into effects: inout [HubEffect]) {
        guard rooms[name]?.phase == .opening else { return }
        down(name, at: now)
        let refusal = Refusal(.storage, retry: .after(retry(in: name)), room: name, "the room cannot be opened now")
        let waiting = rooms[name]?.members.filter { $0.value.phase == .asking }.keys.sorted() ?? []
        for id in waiting { refuseJoin(id, refusal, at: now, into: &effects) }
        let requests = rooms[name]?.requests ?? []
        rooms[name]?.requests = []
        for waiting in requests {
            counts.refused[refusal.code, default: 0] += 1
            effects.append(.answer(waiting.request, .refused(refusal)))
        }
        // A room that was never open leaves nothing behind.
        if let room = rooms[name], room.isIdle, room.generation == 0 { forget(name) }
    }

    /// Closes a room for a while; the time doubles with each failure in a row.
    private mutating func down(_ name: RoomName, at now: Moment) {
        guard let room = rooms[name] else { return }
        if !room.isDown { counts.closedRooms += 1 }
        let failures = min(room.failures + 1, 20)
        rooms[name]?.failures = failures
        rooms[name]?.isDown = true
        rooms[name]?.phase = .closed
        if !isStopping { alarms.set(.reopen(name), at: now + pause(after: failures)) }
    }

    func pause(after failures: Int) -> Duration {
        Backoff(base: policy.reopenAfter, cap: policy.reopenAtMost).ceiling(attempt: failures)
    }

    mutating func reopen(_ name: RoomName, into effects: inout [HubEffect]) {
        guard rooms[name]?.phase == .closed else { return }
        rooms[name]?.phase = .opening
        effects.append(.log(rooms[name]?.isRewound == true ? .renew(name) : .open(name)))
    }

    // MARK: Marks

    private mutating func recalled(
        _ mark: DeviceMark?, of device: DeviceID, in name: RoomName, at now: Moment, into effects: inout [HubEffect]
    ) {
        guard let author = rooms[name]?.authors[device], author.knowledge == .asked else { return }
        rooms[name]?.authors[device]?.waiting = []
        // Another room may have asked at the same time and learned first that nobody owns the device.
        let isForeign = mark.map { $0.user != author.user } ?? false
        if isForeign || isAnothers(device, than: author.user) {
            rooms[name]?.authors[device]?.knowledge = .unknown
            if isForeign, let mark { remember(mark.user, of: device, at: now) }
            let refusal = Refusal(.device, room: name, "the device belongs to another user")
            for waiting in author.waiting { effects.append(.answer(waiting.request, .refused(refusal))) }
            if let id = author.connection {
                // An owner on disk does not change.
                if isForeign { connections[id]?.isDeviceForeign = true }
                refuseJoin(id, refusal, at: now, into: &effects)
            }
            retireAuthor(device, in: name)
            return watchIdle(name, at: now)
        }
        ownerships[device]?.user = author.user
        rooms[name]?.authors[device]?.learn(mark)
        for waiting in author.waiting {
            publish(waiting.publication, of: device, by: author.user, in: name, for: waiting.request, at: now, into: &effects)
        }
        if let id = author.connection { pursue(id, in: name, at: now, into: &effects) }
        retireAuthor(device, in: name)
        watchIdle(name, at: now)
    }

    private mutating func notRecalled(_ device: DeviceID, in name: RoomName, at now: Moment, into effects: inout [HubEffect]) {
        guard let author = rooms[name]?.authors[device], author.knowledge == .asked else { return }
        rooms[name]?.authors[device]?.knowledge = .unknown
        rooms[name]?.authors[device]?.waiting = []
        let refusal = cannotRead(name)
        for waiting in author.waiting { effects.append(.answer(waiting.request, .refused(refusal))) }
        if let id = author.connection, rooms[name]?.members[id]?.phase == .asking { refuseJoin(id, refusal, at: now, into: &effects) }
        retireAuthor(device, in: name)
        watchIdle(name, at: now)
    }

    // MARK: Appends

    /// Handles publications that are on disk: sends acks to their authors first, and then the entries to the members.
    private mutating func appended(_ batch: Int64, to name: RoomName, at now: Moment, into effects: inout [HubEffect]) {
        let number = nextNumber()
        guard let settled = rooms[name]?.settle(batch, of: name, next: number, at: now, policy: policy) else { return }
        let epoch = settled.epoch
        tailBytes += settled.tailGrowth
        if tailBytes > policy.allTailBytes { dropTail(of: name) }
        for id in settled.connections { connections[id]?.pending -= 1 }
        for (id, acks) in settled.acks {
            counts.acked += UInt64(acks.count)
            effects.append(.send(.acks(name, epoch: epoch, acks), to: id))
        }
        for (request, ack) in settled.answers {
            counts.acked += 1
            effects.append(.answer(request, .stored(epoch: epoch, ack)))
        }
        deliver(settled.entries, of: name, epoch: epoch, to: settled.live, into: &effects)
        if let next = settled.next { effects.append(.log(next)) } else { drawEpoch(for: name, into: &effects) }
        for id in settled.newcomers { pursue(id, in: name, at: now, into: &effects) }
        for device in settled.retired { hasRetired(device) }
        if settled.isIdle { watchIdle(name, at: now) }
        closeIfSettled(name, at: now, into: &effects)
    }

    /// Drops a room's entries from memory; resumes then read from the log.
    private mutating func dropTail(of name: RoomName) {
        tailBytes -= rooms[name]?.tail.bytes ?? 0
        rooms[name]?.tail.removeAll()
    }

    /// Sends entries to all live members, in as few frames as the limits allow.
    private mutating func deliver(
        _ entries: [Entry], of name: RoomName, epoch: UInt64, to members: [ConnectionID], into effects: inout [HubEffect]
    ) {
        guard !members.isEmpty else { return }
        counts.delivered += UInt64(entries.count) * UInt64(members.count)
        var rest = entries[...]
        while !rest.isEmpty {
            let frame = Array(rest.prefix(Int(clamping: policy.limits.page))).withinBytes(policy.pageBytes)
            let proof = frame.last.flatMap { proofs?.proof(of: EntryStamp($0), at: LogPosition(epoch: epoch, seq: $0.seq), in: name) }
            effects.append(.fanOut(.entries(name, epoch: epoch, frame, proof: proof), to: members))
            rest = rest.dropFirst(frame.count)
        }
    }

    /// Handles a failed append: it is unknown what is on disk, so all pending publications are dropped and sent again after a reopen.
    private mutating func notAppended(_ batch: Int64, to name: RoomName, at now: Moment, into effects: inout [HubEffect]) {
        guard let dropped = rooms[name]?.sequencer.notAppended(batch: batch) else { return }
        counts.failedAppends += 1
        down(name, at: now)
        let after = retry(in: name)
        var told: Set<DeviceID> = []
        for pending in dropped {
            if let id = pending.connection { connections[id]?.pending -= 1 }
            if let user = pending.payer { users[user]?.meter.disk.giveBack(pending.price, ofDay: policy.userDay) }
            // Only the first of each device: the others follow it.
            guard told.insert(pending.device).inserted, let author = rooms[name]?.authors[pending.device] else { continue }
            rooms[name]?.authors[pending.device]?.giveUp()
            let refusal = Refusal(.storage, retry: .after(after), room: name, cseq: pending.ack.cseq, "it cannot be stored now")
            for (request, _) in author.pending { effects.append(.answer(request, .refused(refusal))) }
            if let id = author.connection, rooms[name]?.members[id]?.hasState == true { say(refusal, to: id, into: &effects) }
            retireAuthor(pending.device, in: name)
        }
        watchIdle(name, at: now)
        closeIfSettled(name, at: now, into: &effects)
    }

    // MARK: Duplicates

    private mutating func found(_ entry: FoundEntry?, for number: Int64, at now: Moment, into effects: inout [HubEffect]) {
        guard let question = questions.removeValue(forKey: number) else { return }
        let name = question.room
        let isCurrent = rooms[name]?.generation == question.generation
        switch question.purpose {
        case .duplicate(let device, let cseq):
            guard let id = question.connection else { return }
            answered(id)
            guard isCurrent, let room = rooms[name], room.members[id]?.hasState == true else { return }
            let ack = duplicate(entry, of: room.authors[device], cseq)
            effects.append(.send(.acks(name, epoch: room.epoch, [ack]), to: id))
        case .repeated(let request, let device, let cseq):
            guard isCurrent, let epoch = rooms[name]?.epoch else {
                return effects.append(.answer(request, .refused(cannotRead(name))))
            }
            effects.append(.answer(request, .stored(epoch: epoch, duplicate(entry, of: rooms[name]?.authors[device], cseq))))
        default: break
        }
    }

    private func duplicate(_ entry: FoundEntry?, of author: Author?, _ cseq: Int64) -> HubFrame.Ack {
        let known = author?.high == cseq ? author?.highID : nil
        return HubFrame.Ack(cseq: cseq, seq: entry?.seq ?? 0, at: entry?.at ?? 0, id: entry?.id ?? known, isDuplicate: true)
    }
}
