import MachineCore
import ProtocolCore

/// Presence, typing, signals and read markers.
extension RoomsMachine {
    /// The place of a room that is joined on this connection.
    private func attached(_ room: RoomName) -> Int? { wanted(room).flatMap { seats[$0].isAttached ? $0 : nil } }

    private var memberLimit: Int { Int(min(max(link.limits.members, 0), Int64(policy.members))) }

    mutating func appear(_ room: RoomName, _ presence: Presence, into effects: inout [RoomsEffect]) {
        guard let place = wanted(room), seats[place].wish.presence != presence else { return }
        seats[place].wish.presence = presence
        if link.isUp, seats[place].isAttached, seats[place].wish.wantsPresence, seats[place].rights.contains(.presence) {
            effects.append(.send(.presence(room, presence)))
        }
    }

    mutating func take(_ word: HubFrame.RoomMembers, at now: Moment, into effects: inout [RoomsEffect]) {
        // Also while the store is being read again: the hub does not know of that, and tells only what changes.
        guard let place = wanted(word.room), seats[place].wish.wantsPresence else { return }
        switch seats[place].membership.take(word, limit: memberLimit) {
        case .old: break
        case .changed:
            if word.isFull { seats[place].membersAsked = nil }
            let (all, total) = (seats[place].membership.members(limit: memberLimit), seats[place].membership.total)
            effects.append(.news(.members(word.room, all, total: total)))
        case .gap:
            guard link.isUp, seats[place].membersAsked.map({ $0 <= now }) ?? true else { return }
            seats[place].membersAsked = now + policy.stateTimeout
            effects.append(.send(.members(word.room)))
        }
    }

    mutating func clearMembers(_ place: Int, into effects: inout [RoomsEffect]) {
        guard !seats[place].membership.isEmpty else { return }
        seats[place].membership = RoomMembership()
        effects.append(.news(.members(seats[place].room, [], total: 0)))
    }

    // MARK: Typing and signals

    mutating func type(_ room: RoomName, _ types: Bool, at now: Moment, into effects: inout [RoomsEffect]) {
        guard link.isUp, let place = attached(room), seats[place].rights.contains(.write),
            seats[place].typing.shouldTell(types, at: now, policy: policy)
        else { return }
        effects.append(.send(.typing(room, types)))
    }

    mutating func heardTyping(
        _ room: RoomName, _ user: UserName, _ types: Bool, at now: Moment, into effects: inout [RoomsEffect]
    ) {
        guard let place = attached(room), user != link.user else { return }
        let until = now + policy.typingLife
        if seats[place].typing.heard(user, types: types, until: until, limit: policy.typists) { tellTyping(place, into: &effects) }
        if types { remind(at: until) }
    }

    mutating func tellTyping(_ place: Int, into effects: inout [RoomsEffect]) {
        effects.append(.news(.typing(seats[place].room, seats[place].typing.users)))
    }

    /// Who has sent a message types no more.
    mutating func endTyping(of items: [Entry], at place: Int, into effects: inout [RoomsEffect]) {
        guard !seats[place].typing.isEmpty else { return }
        var changed = false
        for entry in items {
            if seats[place].typing.heard(entry.user, types: false, until: .start, limit: 0) { changed = true }
        }
        if changed { tellTyping(place, into: &effects) }
    }

    mutating func send(_ signal: Signal, to room: RoomName, into effects: inout [RoomsEffect]) {
        guard link.isUp, let place = attached(room), seats[place].rights.contains(.write),
            signal.payload.bytes.count <= RoomsLimits.signalLength, (1...RoomsLimits.typeLength).contains(signal.type.utf8.count)
        else { return }
        effects.append(.send(.signal(room, signal)))
    }

    // MARK: Read markers

    mutating func read(_ room: RoomName, upTo seq: Int64, into effects: inout [RoomsEffect]) {
        guard let place = wanted(room), seats[place].store == .ready else { return }
        let reached = min(seq, seats[place].inbox.cursor.seq)
        guard reached > seats[place].read else { return }
        seats[place].read = reached
        order(pending(room), [.read(room, upTo: reached)], into: &effects)
        catchUpReading(place, into: &effects)
    }

    /// Says how far the user has read, if the hub does not know it.
    mutating func catchUpReading(_ place: Int, into effects: inout [RoomsEffect]) {
        guard link.isUp, seats[place].isAttached, seats[place].rights.contains(.read), let user = link.user,
            seats[place].epoch == seats[place].inbox.cursor.epoch, seats[place].read > seats[place].reads[user] ?? 0
        else { return }
        seats[place].reads[user] = seats[place].read
        effects.append(.send(.read(seats[place].room, upTo: seats[place].read)))
    }

    mutating func heardRead(_ room: RoomName, _ markers: [HubFrame.ReadMarker], into effects: inout [RoomsEffect]) {
        guard let place = attached(room) else { return }
        for marker in markers where (1..<RoomsLimits.number).contains(marker.seq) {
            let known = seats[place].reads[marker.user]
            guard marker.seq > known ?? 0, known != nil || seats[place].reads.count < policy.readers || marker.user == link.user else {
                continue
            }
            seats[place].reads[marker.user] = marker.seq
            tellOnceWritten(.read(room, marker.user, upTo: marker.seq), of: place, into: &effects)
            // The user reads elsewhere too.
            let reached = min(marker.seq, seats[place].inbox.cursor.seq)
            guard marker.user == link.user, seats[place].rights.contains(.read), reached > seats[place].read else { continue }
            seats[place].read = reached
            order(pending(room), [.read(room, upTo: reached)], into: &effects)
        }
    }
}
