import MachineCore
import ProtocolCore

/// Presence, typing, signals and read markers.
extension RoomsMachine {
    /// Returns the place of a room that is joined on this connection.
    private func attached(_ room: RoomName) -> Int? { wanted(room).flatMap { clientRooms[$0].isAttached ? $0 : nil } }

    private var memberLimit: Int { Int(min(max(link.limits.members, 0), Int64(policy.members))) }

    mutating func appear(_ room: RoomName, _ presence: Presence, into effects: inout [RoomsEffect]) {
        guard let place = wanted(room), clientRooms[place].request.presence != presence else { return }
        clientRooms[place].request.presence = presence
        if link.isUp, clientRooms[place].isAttached, clientRooms[place].request.wantsPresence, clientRooms[place].rights.contains(.presence)
        {
            effects.append(.send(.presence(room, presence)))
        }
    }

    mutating func take(_ word: HubFrame.RoomMembers, at now: Moment, into effects: inout [RoomsEffect]) {
        // This also runs while the store is being read again: the hub does not know about that, and sends only changes.
        guard let place = wanted(word.room), clientRooms[place].request.wantsPresence else { return }
        switch clientRooms[place].membership.take(word, limit: memberLimit) {
        case .old: break
        case .changed:
            if word.isFull { clientRooms[place].membersAsked = nil }
            let (all, total) = (clientRooms[place].membership.members(limit: memberLimit), clientRooms[place].membership.total)
            effects.append(.news(.members(word.room, all, total: total)))
        case .gap:
            guard link.isUp, clientRooms[place].membersAsked.map({ $0 <= now }) ?? true else { return }
            clientRooms[place].membersAsked = now + policy.stateTimeout
            effects.append(.send(.members(word.room)))
        }
    }

    mutating func clearMembers(_ place: Int, into effects: inout [RoomsEffect]) {
        guard !clientRooms[place].membership.isEmpty else { return }
        clientRooms[place].membership = RoomMembership()
        effects.append(.news(.members(clientRooms[place].room, [], total: 0)))
    }

    // MARK: Typing and signals

    mutating func type(_ room: RoomName, _ types: Bool, at now: Moment, into effects: inout [RoomsEffect]) {
        guard link.isUp, let place = attached(room), clientRooms[place].rights.contains(.write),
            clientRooms[place].typing.shouldTell(types, at: now, policy: policy)
        else { return }
        effects.append(.send(.typing(room, types)))
    }

    mutating func heardTyping(
        _ room: RoomName, _ user: UserName, _ types: Bool, at now: Moment, into effects: inout [RoomsEffect]
    ) {
        guard let place = attached(room), user != link.user else { return }
        let until = now + policy.typingLife
        if clientRooms[place].typing.heard(user, types: types, until: until, limit: policy.typists) { notifyTyping(place, into: &effects) }
        if types { remind(at: until) }
    }

    mutating func notifyTyping(_ place: Int, into effects: inout [RoomsEffect]) {
        effects.append(.news(.typing(clientRooms[place].room, clientRooms[place].typing.users)))
    }

    /// Ends the typing state of users who have sent a message.
    mutating func endTyping(of items: [Entry], at place: Int, into effects: inout [RoomsEffect]) {
        guard !clientRooms[place].typing.isEmpty else { return }
        var changed = false
        for entry in items {
            if clientRooms[place].typing.heard(entry.user, types: false, until: .start, limit: 0) { changed = true }
        }
        if changed { notifyTyping(place, into: &effects) }
    }

    mutating func send(_ signal: Signal, to room: RoomName, into effects: inout [RoomsEffect]) {
        guard link.isUp, let place = attached(room), clientRooms[place].rights.contains(.write),
            signal.payload.bytes.count <= RoomsLimits.signalLength, (1...RoomsLimits.typeLength).contains(signal.type.utf8.count)
        else { return }
        effects.append(.send(.signal(room, signal)))
    }

    // MARK: Read markers

    mutating func read(_ room: RoomName, upTo seq: Int64, into effects: inout [RoomsEffect]) {
        guard let place = wanted(room), clientRooms[place].store == .ready else { return }
        let reached = min(seq, clientRooms[place].inbox.cursor.seq)
        guard reached > clientRooms[place].read else { return }
        clientRooms[place].read = reached
        order(pending(room), [.read(room, upTo: reached)], into: &effects)
        catchUpReading(place, into: &effects)
    }

    /// Reports how far the user has read, if the hub does not know it.
    mutating func catchUpReading(_ place: Int, into effects: inout [RoomsEffect]) {
        guard link.isUp, clientRooms[place].isAttached, clientRooms[place].rights.contains(.read), let user = link.user,
            clientRooms[place].epoch == clientRooms[place].inbox.cursor.epoch, clientRooms[place].read > clientRooms[place].reads[user] ?? 0
        else { return }
        clientRooms[place].reads[user] = clientRooms[place].read
        effects.append(.send(.read(clientRooms[place].room, upTo: clientRooms[place].read)))
    }

    mutating func heardRead(_ room: RoomName, _ markers: [HubFrame.ReadMarker], into effects: inout [RoomsEffect]) {
        guard let place = attached(room) else { return }
        for marker in markers where (1..<RoomsLimits.number).contains(marker.seq) {
            let known = clientRooms[place].reads[marker.user]
            guard marker.seq > known ?? 0, known != nil || clientRooms[place].reads.count < policy.readers || marker.user == link.user
            else {
                continue
            }
            clientRooms[place].reads[marker.user] = marker.seq
            notifyOnceWritten(.read(room, marker.user, upTo: marker.seq), of: place, into: &effects)
            // The user may read on another device, too.
            let reached = min(marker.seq, clientRooms[place].inbox.cursor.seq)
            guard marker.user == link.user, clientRooms[place].rights.contains(.read), reached > clientRooms[place].read else { continue }
            clientRooms[place].read = reached
            order(pending(room), [.read(room, upTo: reached)], into: &effects)
        }
    }
}
