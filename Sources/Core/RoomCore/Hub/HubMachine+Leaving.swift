import MachineCore

extension HubMachine {
    /// Refuses a join that was under way: the client is no longer in the room.
    mutating func refuseJoin(_ id: ConnectionID, _ refusal: Refusal, at now: Moment, into effects: inout [HubEffect]) {
        say(refusal, to: id, into: &effects)
        if let room = refusal.room { detach(id, from: room, isLost: false, at: now, into: &effects) }
    }

    /// Takes a connection out of a room; one that was lost is still shown there for a while.
    mutating func detach(_ id: ConnectionID, from name: RoomName, isLost: Bool, at now: Moment, into effects: inout [HubEffect]) {
        guard let member = rooms[name]?.members.removeValue(forKey: id) else { return }
        counts.members -= 1
        visits[id]?.rooms.remove(name)
        if let visit = visits[id] { holdings.remove(name, user: member.user, address: visit.address) }
        if member.isInLine { visits[id]?.line.removeAll { $0 == name } }
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

    /// Has a room let go after a while, if nothing needs it; before, if another one needs its place.
    mutating func watchIdle(_ name: RoomName, at now: Moment) {
        if rooms[name]?.isDeserted == true { deserted.insert(name) }
        if rooms[name]?.isIdle == true, !alarms.isSet(.release(name)) { alarms.set(.release(name), at: now + policy.releaseAfter) }
    }

    /// Lets go of a room that nobody is in; false if there is none.
    ///
    /// Whoever is still shown there was lost and has not come back: only other nodes need to hear that they are gone.
    mutating func makeRoom(at now: Moment, into effects: inout [HubEffect]) -> Bool {
        while let name = deserted.first {
            deserted.remove(name)
            guard rooms[name]?.isDeserted == true else { continue }
            for device in rooms[name]?.attendance.devices ?? [] { hide(device, in: name, at: now, into: &effects) }
            tellPresence(in: name, at: now, into: &effects)
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

    /// After a token was renewed: where rights are others now, they hold from the next state on.
    mutating func review(_ id: ConnectionID, at now: Moment, into effects: inout [HubEffect]) {
        guard let visit = visits[id], let identity = visit.identity else { return }
        for name in visit.rooms.sorted() {
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
