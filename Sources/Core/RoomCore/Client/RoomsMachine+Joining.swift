import MachineCore
import ProtocolCore

/// The rooms that the app wants, and how the client joins them.
extension RoomsMachine {
    /// Returns the place of a room that the app wants.
    func wanted(_ room: RoomName) -> Int? { places[room].flatMap { clientRooms[$0].isWanted ? $0 : nil } }

    mutating func clientRoom(_ room: RoomName, _ request: JoinRequest, isWanted: Bool) -> Int {
        places[room] = clientRooms.count
        clientRooms.append(ClientRoom(room, request, isWanted: isWanted))
        return clientRooms.count - 1
    }

    mutating func join(_ room: RoomName, _ request: JoinRequest, at now: Moment, into effects: inout [RoomsEffect]) {
        guard let place = places[room] else {
            let place = clientRoom(room, request, isWanted: true)
            sleepers.remove(room)
            return load(place, into: &effects)
        }
        clientRooms[place].request = request
        if !clientRooms[place].isWanted {
            clientRooms[place].isWanted = true
            return clientRooms[place].store == .ready ? enter(place, at: now, into: &effects) : load(place, into: &effects)
        }
        if case .barred = clientRooms[place].standing { clientRooms[place].standing = .out }
        enter(place, at: now, into: &effects)
    }

    mutating func leave(_ room: RoomName, forgets: Bool, at now: Moment, into effects: inout [RoomsEffect]) {
        guard places[room] != nil || forgets else { return }
        let place = places[room] ?? clientRoom(room, JoinRequest(), isWanted: false)
        if clientRooms[place].isWanted {
            if clientRooms[place].wasAsked {
                if link.isUp { effects.append(.send(.leave(room))) } else { link.pendingLeaves.append(room) }
            }
            clientRooms[place].wasAsked = false
            answered(place, at: now, into: &effects)
            for question in questions where question.room == room { giveUp(question, nil, at: now, into: &effects) }
            questions.removeAll { $0.room == room }
            refuseHeld(place, .notJoined, into: &effects)
            notify(.left, of: place, into: &effects)
            sleepers.insert(room)
            clientRooms[place].isWanted = false
            clientRooms[place].detach()
            clientRooms[place].told = nil
            _ = clientRooms[place].typing.clear()
            (clientRooms[place].membership, clientRooms[place].reads) = (RoomMembership(), [:])
            if renewal == nil { clientRooms[place].store = .due } else { abandon(place) }
        }
        if forgets {
            if clientRooms[place].store == .ready { (clientRooms[place].inbox, clientRooms[place].read) = (Inbox(), 0) }
            order(pending(room), [.forget(room)], into: &effects)
        }
        settleIfKnown(at: now, into: &effects)
        removeIfDone(room)
        joinNext(at: now, into: &effects)
        pumpAllIfTight(at: now, into: &effects)
    }

    /// Tells the hub that the client leaves all rooms; after a mere close the hub would show it as present for a while.
    mutating func prepareToClose(at now: Moment, into effects: inout [RoomsEffect]) {
        guard link.isUp else { return }
        for place in clientRooms.indices where clientRooms[place].wasAsked { effects.append(.send(.leave(clientRooms[place].room))) }
        drop(at: now, into: &effects)
    }

    /// Removes the place of a room that the app does not want, unless work for it is pending.
    mutating func removeIfDone(_ room: RoomName) {
        guard let place = places[room], !clientRooms[place].isWanted, clientRooms[place].unwritten == 0, clientRooms[place].loads == 0,
            renewal == nil,
            !commits.pending.contains(where: \.isRenewal)
        else { return }
        places[room] = nil
        clientRooms.swapAt(place, clientRooms.count - 1)
        clientRooms.removeLast()
        if place < clientRooms.count { places[clientRooms[place].room] = place }
    }

    func mayJoin(_ place: Int) -> Bool {
        clientRooms[place].isWanted && clientRooms[place].store == .ready && clientRooms[place].standing == .out
            && clientRooms[place].unwrittenEntries < policy.unwrittenEntries && clientRooms[place].unwrittenBytes < policy.unwrittenBytes
    }

    func joinFrame(_ place: Int) -> ClientFrame.Join {
        let clientRoom = clientRooms[place]
        var (cursor, limit) = (clientRoom.inbox.cursor, max(clientRoom.request.limit, 0))
        if cursor.epoch == 0 {
            limit = 0
            switch clientRoom.request.start {
            // One entry shows where the log ends; it is not stored.
            case .now: cursor = LogPosition(epoch: 0, seq: -1)
            case .last(let count): cursor = LogPosition(epoch: 0, seq: -min(max(count, 1), RoomsLimits.number - 1))
            case .beginning: cursor = .nowhere
            }
        }
        return ClientFrame.Join(
            room: clientRoom.room, cursor: cursor, limit: limit, wantsPresence: clientRoom.request.wantsPresence,
            next: clientRoom.outbox.next,
            proof: clientRoom.inbox.proof)
    }

    /// Joins a room if nothing prevents it.
    mutating func enter(_ place: Int, at now: Moment, into effects: inout [RoomsEffect]) {
        guard mayJoin(place) else { return }
        guard link.isUp else { return notify(.waiting, of: place, into: &effects) }
        guard !link.isOneByOne else { return joinNext(at: now, into: &effects) }
        ask(place, at: now, into: &effects)
    }

    private mutating func ask(_ place: Int, at now: Moment, into effects: inout [RoomsEffect]) {
        clientRooms[place].standing = .asked(until: now + policy.stateTimeout)
        clientRooms[place].wasAsked = true
        remind(at: now + policy.stateTimeout)
        if !clientRooms[place].isAttached { notify(.waiting, of: place, into: &effects) }
        effects.append(.send(.join(joinFrame(place))))
    }

    /// Joins the next room when rooms are joined separately, after too many failed resumes.
    mutating func joinNext(at now: Moment, into effects: inout [RoomsEffect]) {
        guard link.isOneByOne, link.isUp, link.lone == nil else { return }
        guard let place = clientRooms.indices.first(where: { mayJoin($0) }) else {
            if clientRooms.allSatisfy({ $0.suspicion == 0 }) { link.failedResumes = 0 }
            return
        }
        link.lone = clientRooms[place].room
        ask(place, at: now, into: &effects)
    }

    /// Records that the hub has answered a join, or that the join is no longer wanted.
    mutating func answered(_ place: Int, at now: Moment, into effects: inout [RoomsEffect]) {
        link.lastState = now
        clientRooms[place].suspicion = 0
        if link.resuming.remove(clientRooms[place].room) != nil, link.resuming.isEmpty { link.failedResumes = 0 }
        if link.lone == clientRooms[place].room { link.lone = nil }
    }

    mutating func putOff(_ place: Int, _ milliseconds: Int64, at now: Moment) {
        let least = Backoff(base: policy.leastPause, cap: policy.leastPause * 256).ceiling(attempt: clientRooms[place].putOffs + 1)
        let pause = min(max(wait(milliseconds), least), policy.longestPause)
        clientRooms[place].putOffs += 1
        clientRooms[place].standing = .pausing(until: now + pause)
        remind(at: now + pause)
    }

    /// Continues with a room once all its ordered writes are on disk.
    mutating func goOn(_ place: Int, at now: Moment, into effects: inout [RoomsEffect]) {
        guard clientRooms[place].unwritten == 0 else { return }
        if clientRooms[place].store == .due { return load(place, into: &effects) }
        if clientRooms[place].standing == .behind { clientRooms[place].standing = .out }
        enter(place, at: now, into: &effects)
    }
}
