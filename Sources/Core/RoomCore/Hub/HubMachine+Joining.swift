import MachineCore

// "Joining and resuming".
extension HubMachine {
    mutating func join(_ join: ClientFrame.Join, from id: ConnectionID, at now: Moment, into effects: inout [HubEffect]) {
        let name = join.room
        guard let identity = connections[id]?.identity, let device = connections[id]?.hello?.device else { return }
        if isStopping { return say(Refusal(.stopping, retry: .reconnect, room: name, "the hub is stopping"), to: id, into: &effects) }
        var wait = pageWait(of: id, at: now)
        if wait == 0 { wait = admit(by: id, at: now) }
        guard wait == 0 else {
            return say(Refusal(.rate, retry: .after(wait), room: name, "too many joins, or bytes for joins"), to: id, into: &effects)
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
        guard let connection = connections[id], Int64(connection.rooms.count) < policy.limits.rooms else {
            return say(Refusal(.count, room: name, "too many rooms of this connection"), to: id, into: &effects)
        }
        if let excess = holdings.excess(name, user: identity.user, address: connection.address, policy: policy) {
            return say(crowded(name, excess), to: id, into: &effects)
        }
        if connections[id]?.isDeviceForeign == true {
            return say(Refusal(.device, room: name, "the device belongs to another user"), to: id, into: &effects)
        }
        guard !isAnothers(device, than: identity.user) else {
            return say(Refusal(.device, room: name, "another user is in a room with this device"), to: id, into: &effects)
        }
        if let author = rooms[name]?.authors[device], author.user != identity.user {
            // Until the log names the owner, the device may belong to the second user.
            return say(Refusal(.device, retry: .after(1000), room: name, "another user is here with this device"), to: id, into: &effects)
        }
        guard ensure(name, at: now, into: &effects) else {
            return say(crowded(name, "too many rooms are open"), to: id, into: &effects)
        }
        rooms[name]?.members[id] = Member(device: device, user: identity.user, rights: rights, join: join)
        enroll(device, of: identity.user, in: name)
        rooms[name]?.authors[device]?.connection = id
        rooms[name]?.authors[device]?.welcome()
        connections[id]?.rooms.insert(name)
        holdings.add(name, user: identity.user, address: connection.address)
        counts.members += 1
        pursue(id, in: name, at: now, into: &effects)
    }

    /// Admits a join or a request of similar cost; returns 0, or the milliseconds to wait.
    mutating func admit(by id: ConnectionID, at now: Moment) -> Int64 {
        guard let connection = connections[id], let user = connection.identity?.user else { return 0 }
        let (time, address) = (now.offset.wholeNanoseconds, connection.address)
        let wait = max(
            connection.meter.joins.wait(for: 1, policy.connection.joins, at: time),
            users[user]?.meter.joins.wait(for: 1, policy.user.joins, at: time) ?? 0,
            addresses[address]?.meter.joins.wait(for: 1, policy.address.joins, at: time) ?? 0)
        guard wait == 0 else { return wait }
        takeJoins(1, of: id, at: now)
        return 0
    }

    /// Takes the cost of this many joins, even if less is available.
    mutating func takeJoins(_ count: Int64, of id: ConnectionID, at now: Moment) {
        guard let connection = connections[id], let user = connection.identity?.user else { return }
        let time = now.offset.wholeNanoseconds
        connections[id]?.meter.joins.take(count, policy.connection.joins, at: time)
        users[user]?.meter.joins.take(count, policy.user.joins, at: time)
        addresses[connection.address]?.meter.joins.take(count, policy.address.joins, at: time)
    }

    /// Opens a room if it is not open; returns false if there is no place for it.
    mutating func ensure(_ name: RoomName, at now: Moment, into effects: inout [HubEffect]) -> Bool {
        alarms.cancel(.release(name))
        deserted.remove(name)
        guard rooms[name] == nil else { return true }
        guard rooms.count < policy.openRooms || makeRoom(at: now, into: &effects) else { return false }
        rooms[name] = Room(presenceAfter: toldVersion)
        effects.append(.log(.open(name)))
        return true
    }

    /// Creates a temporary refusal because of a limit that others may have used up.
    ///
    /// The pause is random, so that refused clients do not all come back at once.
    mutating func crowded(_ name: RoomName, _ text: String) -> Refusal {
        Refusal(.count, retry: .after(Int64.random(in: policy.crowded, using: &chance)), room: name, text)
    }

    /// Continues a member's join as far as possible: the room must be open, the device's mark known, and its turn reached.
    mutating func pursue(_ id: ConnectionID, in name: RoomName, at now: Moment, into effects: inout [HubEffect]) {
        guard let room = rooms[name], room.phase == .open, !room.isRewound, let member = room.members[id], member.phase == .asking else {
            return
        }
        guard isMarkKnown(of: member.device, in: name, into: &effects) else { return }
        // "high is a fence": what an older connection of the device has published is on disk already, or will never be.
        guard rooms[name]?.authors[member.device]?.isFenced == false else { return }
        guard connections[id]?.isCongested == false, connections[id]?.fetches ?? 0 < policy.fetches else {
            if !member.isInLine { connections[id]?.line.append(name) }
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
            let refusal = Refusal(.rate, retry: .after(wait), room: name, "too many bytes for joins")
            guard wait == 0 else {
                guard member.hasState else { return refuseJoin(id, refusal, at: now, into: &effects) }
                // It stays in the room, as a member that has to join again.
                rooms[name]?.members[id]?.phase = .behind
                return say(refusal, to: id, into: &effects)
            }
        }
        switch answer {
        case .items(let items, let isSnapshot): notifyState(of: name, to: id, items, isSnapshot: isSnapshot, at: now, into: &effects)
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

    /// Returns whether a device's mark is known; if not, asks the log.
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
        connections[id]?.fetches += 1
        rooms[name]?.members[id]?.phase = .fetching(number)
        return number
    }

    /// Continues the joins in a connection's queue.
    mutating func advance(_ id: ConnectionID, at now: Moment, into effects: inout [HubEffect]) {
        while let name = connections[id]?.line.first, connections[id]?.isCongested == false, connections[id]?.fetches ?? 0 < policy.fetches
        {
            connections[id]?.line.removeFirst()
            rooms[name]?.members[id]?.isInLine = false
            pursue(id, in: name, at: now, into: &effects)
        }
    }
}

extension HubMachine {
    /// Refuses a pending join; the client is no longer in the room.
    mutating func refuseJoin(_ id: ConnectionID, _ refusal: Refusal, at now: Moment, into effects: inout [HubEffect]) {
        say(refusal, to: id, into: &effects)
        if let room = refusal.room { detach(id, from: room, isLost: false, at: now, into: &effects) }
    }

    /// Removes a connection from a room; a lost device is still shown there for a while.
    mutating func detach(_ id: ConnectionID, from name: RoomName, isLost: Bool, at now: Moment, into effects: inout [HubEffect]) {
        guard let member = rooms[name]?.members.removeValue(forKey: id) else { return }
        counts.members -= 1
        connections[id]?.rooms.remove(name)
        if let connection = connections[id] { holdings.remove(name, user: member.user, address: connection.address) }
        if member.isInLine { connections[id]?.line.removeAll { $0 == name } }
        rooms[name]?.mute(id)
        rooms[name]?.authors[member.device]?.connection = nil
        retireAuthor(member.device, in: name)
        if rooms[name]?.attendance.contains(member.ownedDevice) == true {
            if isLost {
                devices[member.ownedDevice]?.lingering.insert(name)
            } else {
                hide(member.ownedDevice, in: name, at: now, into: &effects)
            }
        }
        watchIdle(name, at: now)
    }

    /// Schedules the release of an unused room; it is released earlier if another room needs its place.
    mutating func watchIdle(_ name: RoomName, at now: Moment) {
        if rooms[name]?.isDeserted == true { deserted.insert(name) }
        if rooms[name]?.isIdle == true, !alarms.isSet(.release(name)) { alarms.set(.release(name), at: now + policy.releaseAfter) }
    }

    /// Releases an empty room; returns false if there is none.
    ///
    /// Devices that are still shown there were lost and have not come back: only other nodes need to know that they are gone.
    mutating func makeRoom(at now: Moment, into effects: inout [HubEffect]) -> Bool {
        while let name = deserted.first {
            deserted.remove(name)
            guard rooms[name]?.isDeserted == true else { continue }
            for device in rooms[name]?.attendance.devices ?? [] { hide(device, in: name, at: now, into: &effects) }
            notifyPresence(in: name, at: now, into: &effects)
            release(name, into: &effects)
            counts.crowdedOut += 1
            return true
        }
        return false
    }

    mutating func release(_ name: RoomName, into effects: inout [HubEffect]) {
        guard let room = rooms[name], room.isIdle else { return }
        forget(name)
        effects.append(.log(.release(name)))
    }

    mutating func forget(_ name: RoomName) {
        if rooms[name]?.isDown == true { counts.closedRooms -= 1 }
        tailBytes -= rooms[name]?.tail.bytes ?? 0
        toldVersion = max(toldVersion, rooms[name]?.attendance.version ?? 0)
        rooms[name] = nil
        deserted.remove(name)
        for alarm in [Alarm.release(name), .reopen(name), .presence(name), .segments(name)] { alarms.cancel(alarm) }
    }

    /// Updates the rights after a token was renewed; changed rights apply from the next state on.
    mutating func review(_ id: ConnectionID, at now: Moment, into effects: inout [HubEffect]) {
        guard let connection = connections[id], let identity = connection.identity else { return }
        for name in connection.rooms.sorted() {
            let rights = identity.rights(in: name)
            guard let member = rooms[name]?.members[id], member.rights != rights else { continue }
            guard !rights.isEmpty else {
                refuseJoin(id, Refusal(.rights, room: name, "no rights in this room any more"), at: now, into: &effects)
                continue
            }
            rooms[name]?.members[id]?.rights = rights
            rooms[name]?.mute(id)
            if !rights.contains(.presence) { hide(member.ownedDevice, in: name, at: now, into: &effects) }
            guard member.hasState, member.phase == .live || member.phase == .behind else { continue }
            rooms[name]?.members[id]?.phase = .behind
            effects.append(.send(.lag(name, head: rooms[name]?.head ?? 0), to: id))
        }
    }
}
