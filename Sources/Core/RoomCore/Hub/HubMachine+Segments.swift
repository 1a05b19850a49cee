import MachineCore

// "Presence": all who are present in a room, for members who have just come or ask.
extension HubMachine {
    /// Tells a member all who are present: now if nobody of the room was told of late, otherwise once together with others who wait for it.
    ///
    /// So a room costs one frame for each segment and span of time, whoever asks how often.
    mutating func oweSegments(of name: RoomName, to id: ConnectionID, at now: Moment, into effects: inout [HubEffect]) {
        rooms[name]?.askers.insert(id)
        guard !alarms.isSet(.segments(name)) else { return }
        guard let told = rooms[name]?.toldSegments, told + policy.gatherPresence > now else {
            return tellSegments(of: name, at: now, into: &effects)
        }
        alarms.set(.segments(name), at: told + policy.gatherPresence)
    }

    /// Tells those who wait for it all that is known, as far as the budgets of what nobody stores go; the others wait on.
    ///
    /// It is told under the versions that all have heard: what follows then follows these.
    mutating func tellSegments(of name: RoomName, at now: Moment, into effects: inout [HubEffect]) {
        guard let askers = rooms[name]?.askers.ids, !askers.isEmpty else { return }
        let segments = segments(of: name)
        let bytes = segments.reduce(0) { $0 + $1.size }
        var told: [ConnectionID] = []
        rooms[name]?.askers.removeAll()
        for id in askers {
            guard let member = rooms[name]?.members[id], member.isPresent else { continue }
            if spendsSegments(bytes, on: member.user, in: name, at: now) {
                told.append(id)
                // Changes follow what they change.
                rooms[name]?.watchers.insert(id)
            } else {
                rooms[name]?.askers.insert(id)
            }
        }
        if rooms[name]?.askers.isEmpty == false { alarms.set(.segments(name), at: now + policy.gatherPresence) }
        guard let first = told.first else { return }
        rooms[name]?.toldSegments = now
        for segment in segments {
            effects.append(told.count == 1 ? .send(.members(segment), to: first) : .fanOut(.members(segment), to: told))
        }
    }

    /// The segments of all nodes, this one's first.
    private mutating func segments(of name: RoomName) -> [HubFrame.RoomMembers] {
        guard let heard = rooms[name]?.attendance.heard, let neighbours = rooms[name]?.neighbours else { return [] }
        let own = rooms[name]?.attendance.segment(
            of: name, node: node, incarnation: incarnation, version: heard, limit: policy.limits.members)
        return [own].compactMap(\.self) + neighbours.sorted { $0.key < $1.key }.map(\.value.segment)
    }

    /// Whether a user may be told so many bytes: takes them from what the user has told, and from what the room and the hub tell.
    private mutating func spendsSegments(_ bytes: Int64, on user: UserName, in name: RoomName, at now: Moment) -> Bool {
        let time = now.offset.wholeNanoseconds
        let wait = max(
            rooms[name]?.deliveries.wait(for: bytes, policy.roomDeliveries, at: time) ?? 0,
            users[user]?.meter.deliveries.wait(for: bytes, policy.userDeliveries, at: time) ?? 0,
            deliveries.wait(for: bytes, policy.deliveries, at: time))
        guard wait == 0 else { return false }
        users[user]?.meter.deliveries.take(bytes, policy.userDeliveries, at: time)
        tookDeliveries(bytes, in: name, at: now)
        return true
    }
}
