import MachineCore

// Read markers, and "Ephemeral traffic" without presence.
extension HubMachine {
    /// Stores a read marker and sends it to the members; in a room of more than `limits.members` it is only stored.
    ///
    /// Markers that exceed the rate are not sent to the members; the next state contains them.
    mutating func read(_ name: RoomName, upTo seq: Int64, from id: ConnectionID, at now: Moment, into effects: inout [HubEffect]) {
        guard let member = member(id, in: name, with: .read, into: &effects), let head = rooms[name]?.head else { return }
        let seq = min(seq, head)
        guard rooms[name]?.mark(member.user, upTo: seq) == true else { return }
        effects.append(.log(.mark(name, member.user, upTo: seq)))
        guard let hearers = rooms[name]?.hearers, !hearers.isEmpty, Int64(hearers.count) <= policy.limits.members else { return }
        let bytes = Self.frameSize(name, member.user)
        guard takesSignal(of: id, bytes: bytes, at: now) else { return }
        guard spends(bytes, to: hearers.count, by: member.user, in: name, at: now) else { return }
        effects.append(.fanOut(.read(name, member.user, upTo: seq), to: hearers.ids))
    }

    mutating func type(_ isTyping: Bool, in name: RoomName, from id: ConnectionID, at now: Moment, into effects: inout [HubEffect]) {
        guard let member = member(id, in: name, with: .write, into: &effects) else { return }
        let time = now.offset.wholeNanoseconds
        guard member.typing.wait(for: 1, policy.typing, at: time) == 0 else { return }
        rooms[name]?.members[id]?.typing.take(1, policy.typing, at: time)
        guard takesSignal(of: id, bytes: Self.frameSize(name, member.user), at: now) else { return }
        effects.append(.notify(.typing(name, member.user, isTyping)))
    }

    mutating func signal(_ signal: Signal, in name: RoomName, from id: ConnectionID, at now: Moment, into effects: inout [HubEffect]) {
        guard let member = member(id, in: name, with: .write, into: &effects), let connection = connections[id] else { return }
        guard signal.payload.bytes.count <= RoomsLimits.signalLength, (1...RoomsLimits.typeLength).contains(signal.type.utf8.count) else {
            return say(Refusal(.size, room: name, "the signal or its type is too long"), to: id, into: &effects)
        }
        guard takesSignal(of: id, bytes: Self.frameSize(name, member.user) + signal.size, at: now) else { return }
        effects.append(.notify(.signal(name, from: member.user, connection: connection.name, signal)))
    }

    /// Returns whether a client may send one more signal of this size, and takes it from the budgets.
    mutating func takesSignal(of id: ConnectionID, bytes: Int64, at now: Moment) -> Bool {
        let time = now.offset.wholeNanoseconds
        guard connections[id]?.signals.wait(for: 1, policy.signals, at: time) == 0, takesBytes(bytes, of: id, at: now) else {
            counts.unsaid += 1
            return false
        }
        connections[id]?.signals.take(1, policy.signals, at: time)
        return true
    }

    /// Returns whether a client, its user and its address may send this many ephemeral bytes, and takes them from the budgets.
    mutating func takesBytes(_ bytes: Int64, of id: ConnectionID, at now: Moment) -> Bool {
        let time = now.offset.wholeNanoseconds
        guard let address = connections[id]?.address, let user = connections[id]?.identity?.user else { return false }
        let wait = max(
            connections[id]?.meter.ephemeral.wait(for: bytes, policy.connection.ephemeral, at: time) ?? 0,
            users[user]?.meter.ephemeral.wait(for: bytes, policy.user.ephemeral, at: time) ?? 0,
            addresses[address]?.meter.ephemeral.wait(for: bytes, policy.address.ephemeral, at: time) ?? 0)
        guard wait == 0 else { return false }
        connections[id]?.meter.ephemeral.take(bytes, policy.connection.ephemeral, at: time)
        users[user]?.meter.ephemeral.take(bytes, policy.user.ephemeral, at: time)
        addresses[address]?.meter.ephemeral.take(bytes, policy.address.ephemeral, at: time)
        return true
    }

    /// Returns the approximate size of a frame that names a room and a user.
    static func frameSize(_ room: RoomName, _ user: UserName) -> Int64 { Int64(64 + room.text.utf8.count + user.text.utf8.count) }

    mutating func handle(_ message: BusMessage, at now: Moment, into effects: inout [HubEffect]) {
        switch message {
        case .typing(let name, let user, let isTyping):
            spread(.typing(name, user, isTyping), Self.frameSize(name, user), by: user, in: name, at: now, into: &effects)
        case .signal(let name, let user, let connection, let signal):
            let bytes = Self.frameSize(name, user) + signal.size
            spread(.signal(name, from: user, connection: connection, signal), bytes, by: user, in: name, at: now, into: &effects)
        case .segment(let segment): handle(segment, at: now, into: &effects)
        }
    }

    /// Sends a frame to all who receive ephemeral frames, unless a budget is used up.
    private mutating func spread(
        _ frame: HubFrame, _ bytes: Int64, by user: UserName, in name: RoomName, at now: Moment, into effects: inout [HubEffect]
    ) {
        guard let hearers = rooms[name]?.hearers, !hearers.isEmpty else { return }
        guard spends(bytes, to: hearers.count, by: user, in: name, at: now) else { return }
        counts.ephemerals += UInt64(hearers.count)
        effects.append(.fanOut(frame, to: hearers.ids))
    }

    /// Returns whether this many clients may get this many ephemeral bytes, and takes them from the budgets of user, room and hub.
    ///
    /// A user of another node has a budget only there; the budgets of the room and the hub apply anyway.
    private mutating func spends(_ bytes: Int64, to count: Int, by user: UserName, in name: RoomName, at now: Moment) -> Bool {
        let (time, number, total) = (now.offset.wholeNanoseconds, Int64(count), bytes * Int64(count))
        let wait = max(
            rooms[name]?.ephemerals.wait(for: number, policy.ephemerals, at: time) ?? 0,
            rooms[name]?.deliveries.wait(for: total, policy.roomDeliveries, at: time) ?? 0,
            users[user]?.meter.deliveries.wait(for: total, policy.userDeliveries, at: time) ?? 0,
            deliveries.wait(for: total, policy.deliveries, at: time))
        guard wait == 0 else {
            counts.unsaid += 1
            return false
        }
        rooms[name]?.ephemerals.take(number, policy.ephemerals, at: time)
        users[user]?.meter.deliveries.take(total, policy.userDeliveries, at: time)
        rooms[name]?.deliveries.take(total, policy.roomDeliveries, at: time)
        deliveries.take(total, policy.deliveries, atMost: 2, at: time)
        return true
    }

    /// Takes the bytes of presence that were sent in a room, even if the budgets are used up.
    ///
    /// The deficit is limited: the room waits for the time of eight bursts at most, and other rooms for two.
    mutating func tookDeliveries(_ bytes: Int64, in name: RoomName, at now: Moment) {
        let time = now.offset.wholeNanoseconds
        rooms[name]?.deliveries.take(bytes, policy.roomDeliveries, atMost: 8, at: time)
        deliveries.take(bytes, policy.deliveries, atMost: 2, at: time)
    }

    /// Returns a member that has a state and a right; otherwise tells the client what is missing.
    mutating func member(_ id: ConnectionID, in name: RoomName, with right: RoomRights, into effects: inout [HubEffect]) -> Member? {
        guard let member = rooms[name]?.members[id], member.hasState else {
            say(Refusal(.notJoined, retry: .now, room: name, "not joined"), to: id, into: &effects)
            return nil
        }
        guard member.rights.contains(right) else {
            say(Refusal(.rights, room: name, "no right to do that"), to: id, into: &effects)
            return nil
        }
        return member
    }
}

extension Signal {
    /// The approximate number of bytes that the signal adds to a frame.
    fileprivate var size: Int64 {
        let (type, bytes) = (Int64(type.utf8.count), Int64(payload.bytes.count))
        return switch payload {
        case .json: type + bytes
        case .binary: type + bytes / 3 * 4
        }
    }
}
