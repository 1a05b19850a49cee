import MachineCore

// Read markers, and "Ephemeral traffic" but for presence.
extension HubMachine {
    /// A read marker is stored, and told to the members; in a room of more than `limits.members` it is stored only.
    ///
    /// One who counts upwards is not heard by all at each step: the markers that are left out stand in the next state.
    mutating func read(_ name: RoomName, upTo seq: Int64, from id: ConnectionID, at now: Moment, into effects: inout [HubEffect]) {
        guard let member = member(id, in: name, with: .read, into: &effects), let head = rooms[name]?.head else { return }
        let seq = min(seq, head)
        guard rooms[name]?.mark(member.user, upTo: seq) == true else { return }
        effects.append(.log(.mark(name, member.user, upTo: seq)))
        guard let hearers = rooms[name]?.hearers, !hearers.isEmpty, Int64(hearers.count) <= policy.limits.members else { return }
        guard takesSignal(of: id, at: now) else { return }
        effects.append(.fanOut(.read(name, member.user, upTo: seq), to: hearers.ids))
    }

    mutating func type(_ isTyping: Bool, in name: RoomName, from id: ConnectionID, at now: Moment, into effects: inout [HubEffect]) {
        guard let member = member(id, in: name, with: .write, into: &effects) else { return }
        let time = Self.nanoseconds(now)
        guard member.typing.wait(for: 1, policy.typing, at: time) == 0 else { return }
        rooms[name]?.members[id]?.typing.take(1, policy.typing, at: time)
        guard takesSignal(of: id, at: now) else { return }
        effects.append(.tell(.typing(name, member.user, isTyping)))
    }

    mutating func signal(_ signal: Signal, in name: RoomName, from id: ConnectionID, at now: Moment, into effects: inout [HubEffect]) {
        guard let member = member(id, in: name, with: .write, into: &effects), let visit = visits[id] else { return }
        guard signal.payload.bytes.count <= RoomsLimits.signalLength, (1...RoomsLimits.typeLength).contains(signal.type.utf8.count) else {
            return say(Refusal(.size, room: name, "the signal or its type is too long"), to: id, into: &effects)
        }
        guard takesSignal(of: id, at: now) else { return }
        effects.append(.tell(.signal(name, from: member.user, connection: visit.name, signal)))
    }

    /// Whether a client may make the hub say something to many, or something long.
    mutating func takesSignal(of id: ConnectionID, at now: Moment) -> Bool {
        let time = Self.nanoseconds(now)
        guard let visit = visits[id], visit.signals.wait(for: 1, policy.signals, at: time) == 0 else { return false }
        visits[id]?.signals.take(1, policy.signals, at: time)
        return true
    }

    mutating func hear(_ message: BusMessage, at now: Moment, into effects: inout [HubEffect]) {
        switch message {
        case .typing(let name, let user, let isTyping): spread(.typing(name, user, isTyping), in: name, at: now, into: &effects)
        case .signal(let name, let user, let connection, let signal):
            spread(.signal(name, from: user, connection: connection, signal), in: name, at: now, into: &effects)
        case .segment(let segment): hear(segment, at: now, into: &effects)
        }
    }

    /// Tells all who hear, unless the room has used up what it may.
    private mutating func spread(_ frame: HubFrame, in name: RoomName, at now: Moment, into effects: inout [HubEffect]) {
        guard let hearers = rooms[name]?.hearers, !hearers.isEmpty, let bucket = rooms[name]?.ephemerals else { return }
        let (time, cost) = (Self.nanoseconds(now), Int64(hearers.count))
        guard bucket.wait(for: cost, policy.ephemerals, at: time) == 0 else { return }
        rooms[name]?.ephemerals.take(cost, policy.ephemerals, at: time)
        counts.ephemerals += UInt64(hearers.count)
        effects.append(.fanOut(frame, to: hearers.ids))
    }

    /// A member who has a state and a right; otherwise the client is told what is wrong.
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
