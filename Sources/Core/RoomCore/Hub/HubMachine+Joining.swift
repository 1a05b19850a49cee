import MachineCore

// "Joining and resuming".
extension HubMachine {
    mutating func join(_ join: ClientFrame.Join, from id: ConnectionID, at now: Moment, into effects: inout [HubEffect]) {
        let name = join.room
        guard let identity = visits[id]?.identity, let device = visits[id]?.hello?.device else { return }
        if isStopping { return say(Refusal(.stopping, retry: .reconnect, room: name, "the hub is stopping"), to: id, into: &effects) }
        var wait = pageWait(of: id, at: now)
        if wait == 0 { wait = admit(by: id, at: now) }
        guard wait == 0 else {
            return say(Refusal(.rate, retry: .after(wait), room: name, "too many joins, or bytes of them"), to: id, into: &effects)
        }
        let rights = identity.rights(in: name)
        guard !rights.isEmpty else { return say(Refusal(.rights, room: name, "no rights in this room"), to: id, into: &effects) }
        if rooms[name]?.members[id] != nil {
            rooms[name]?.live.remove(id)
            rooms[name]?.members[id]?.join = join
            rooms[name]?.members[id]?.rights = rights
            rooms[name]?.members[id]?.phase = .asking
            rooms[name]?.members[id]?.isChecked = false
            return pursue(id, in: name, at: now, into: &effects)
        }
        guard let visit = visits[id], Int64(visit.rooms.count) < policy.limits.rooms else {
            return say(Refusal(.count, room: name, "too many rooms of this connection"), to: id, into: &effects)
        }
        if let excess = holdings.excess(name, user: identity.user, address: visit.address, policy: policy) {
            return say(crowded(name, excess), to: id, into: &effects)
        }
        if visits[id]?.isDeviceForeign == true {
            return say(Refusal(.device, room: name, "the device is another user's"), to: id, into: &effects)
        }
        guard !isAnothers(device, than: identity.user) else {
            return say(Refusal(.device, room: name, "another user is in a room with this device"), to: id, into: &effects)
        }
        if let author = rooms[name]?.authors[device], author.user != identity.user {
            // As long as the log has not said whose it is, it may be of the one who comes second.
            return say(Refusal(.device, retry: .after(1000), room: name, "another user is here with this device"), to: id, into: &effects)
        }
        guard ensure(name, at: now, into: &effects) else {
            return say(crowded(name, "too many rooms are open"), to: id, into: &effects)
        }
        rooms[name]?.members[id] = Member(device: device, user: identity.user, rights: rights, join: join)
        enroll(device, of: identity.user, in: name)
        rooms[name]?.authors[device]?.connection = id
        rooms[name]?.authors[device]?.welcome()
        visits[id]?.rooms.insert(name)
        holdings.add(name, user: identity.user, address: visit.address)
        counts.members += 1
        pursue(id, in: name, at: now, into: &effects)
    }

    /// How long to wait before another join, or what costs as much, in milliseconds; 0: it is admitted.
    mutating func admit(by id: ConnectionID, at now: Moment) -> Int64 {
        guard let visit = visits[id], let user = visit.identity?.user else { return 0 }
        let (time, address) = (now.offset.wholeNanoseconds, visit.address)
        let wait = max(
            visit.meter.joins.wait(for: 1, policy.connection.joins, at: time),
            users[user]?.meter.joins.wait(for: 1, policy.user.joins, at: time) ?? 0,
            addresses[address]?.meter.joins.wait(for: 1, policy.address.joins, at: time) ?? 0)
        guard wait == 0 else { return wait }
        takeJoins(1, of: id, at: now)
        return 0
    }

    /// Takes what costs as much as so many joins, even if there is less.
    mutating func takeJoins(_ count: Int64, of id: ConnectionID, at now: Moment) {
        guard let visit = visits[id], let user = visit.identity?.user else { return }
        let time = now.offset.wholeNanoseconds
        visits[id]?.meter.joins.take(count, policy.connection.joins, at: time)
        users[user]?.meter.joins.take(count, policy.user.joins, at: time)
        addresses[visit.address]?.meter.joins.take(count, policy.address.joins, at: time)
    }

    /// Has a room opened if nobody was there before; false if there is no place for it.
    mutating func ensure(_ name: RoomName, at now: Moment, into effects: inout [HubEffect]) -> Bool {
        alarms.cancel(.release(name))
        deserted.remove(name)
        guard rooms[name] == nil else { return true }
        guard rooms.count < policy.openRooms || makeRoom(at: now, into: &effects) else { return false }
        rooms[name] = Room(presenceAfter: toldVersion)
        effects.append(.log(.open(name)))
        return true
    }

    /// A limit that others may have used up: never a verdict.
    ///
    /// Those who met it do not all come back at once.
    mutating func crowded(_ name: RoomName, _ text: String) -> Refusal {
        Refusal(.count, retry: .after(Int64.random(in: policy.crowded, using: &chance)), room: name, text)
    }

    /// Goes on with a member's join as far as possible: the room must be open, the device's mark known, and its turn come.
    mutating func pursue(_ id: ConnectionID, in name: RoomName, at now: Moment, into effects: inout [HubEffect]) {
        guard let room = rooms[name], room.phase == .open, !room.isRewound, let member = room.members[id], member.phase == .asking else {
            return
        }
        guard isMarkKnown(of: member.device, in: name, into: &effects) else { return }
        // "high is a fence": what an older connection of the device has published is on disk before, or will never be.
        guard rooms[name]?.authors[member.device]?.isFenced == false else { return }
        guard visits[id]?.isCongested == false, visits[id]?.fetches ?? 0 < policy.fetches else {
            if !member.isInLine { visits[id]?.line.append(name) }
            rooms[name]?.members[id]?.isInLine = true
            return
        }
        let evidence = member.isChecked ? .nothing : room.evidence(of: member.join, proofs)
        if evidence == .rewound { return renew(name, into: &effects) }
        guard
            let answer = rooms[name]?.answer(
                to: member.join, rights: member.rights, page: policy.limits.page, bytes: policy.pageBytes, isUnread: evidence == .unread)
        else { return }
        if answer.isRead {
            let wait = pageWait(of: id, at: now)
            let refusal = Refusal(.rate, retry: .after(wait), room: name, "too many bytes of joins")
            guard wait == 0 else {
                guard member.hasState else { return refuseJoin(id, refusal, at: now, into: &effects) }
                // It stays in the room, as one who has yet to ask.
                rooms[name]?.members[id]?.phase = .behind
                return say(refusal, to: id, into: &effects)
            }
        }
        switch answer {
        case .items(let items, let isSnapshot): tellState(of: name, to: id, items, isSnapshot: isSnapshot, at: now, into: &effects)
        case .fetchAfter(let seq, let limit):
            let number = fetch(.resume(after: member.join.cursor.seq), for: id, in: name)
            let order = LogOrder.fetchAfter(number, name, seq: seq, limit: limit, bytes: policy.pageBytes)
            read(number, order, limit: limit, of: name, for: id, into: &effects)
            readOn(at: now, into: &effects)
        case .fetchLast(let limit):
            let number = fetch(.snapshot(limit: limit), for: id, in: name)
            let head = rooms[name]?.head ?? 0
            let order = LogOrder.fetchBefore(number, name, seq: head + 1, limit: limit, bytes: policy.pageBytes)
            read(number, order, limit: limit, of: name, for: id, into: &effects)
            readOn(at: now, into: &effects)
        }
    }

    /// Whether a device's mark is known; if not, the log is asked.
    mutating func isMarkKnown(of device: DeviceID, in name: RoomName, into effects: inout [HubEffect]) -> Bool {
        guard let knowledge = rooms[name]?.authors[device]?.knowledge else { return false }
        if knowledge == .unknown {
            rooms[name]?.authors[device]?.knowledge = .asked
            effects.append(.log(.recall(name, device)))
        }
        return knowledge == .known
    }

    private mutating func fetch(_ purpose: Question.Purpose, for id: ConnectionID, in name: RoomName) -> Int64 {
        let number = nextNumber()
        questions[number] = Question(room: name, connection: id, generation: rooms[name]?.generation ?? 0, purpose: purpose)
        visits[id]?.fetches += 1
        rooms[name]?.members[id]?.phase = .fetching(number)
        return number
    }

    /// Goes on with the joins that wait in a connection's line.
    mutating func advance(_ id: ConnectionID, at now: Moment, into effects: inout [HubEffect]) {
        while let name = visits[id]?.line.first, visits[id]?.isCongested == false, visits[id]?.fetches ?? 0 < policy.fetches {
            visits[id]?.line.removeFirst()
            rooms[name]?.members[id]?.isInLine = false
            pursue(id, in: name, at: now, into: &effects)
        }
    }
}
