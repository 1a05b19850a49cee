import MachineCore
import ProtocolCore

/// Rooms that the app wants, and how they are joined.
extension RoomsMachine {
    /// The place of a room that the app wants.
    func wanted(_ room: RoomName) -> Int? { places[room].flatMap { seats[$0].isWanted ? $0 : nil } }

    mutating func seat(_ room: RoomName, _ wish: JoinWish, isWanted: Bool) -> Int {
        places[room] = seats.count
        seats.append(RoomSeat(room, wish, isWanted: isWanted))
        return seats.count - 1
    }

    mutating func join(_ room: RoomName, _ wish: JoinWish, at now: Moment, into effects: inout [RoomsEffect]) {
        guard let place = places[room] else {
            let place = seat(room, wish, isWanted: true)
            sleepers.remove(room)
            return load(place, into: &effects)
        }
        seats[place].wish = wish
        if !seats[place].isWanted {
            seats[place].isWanted = true
            return seats[place].store == .ready ? enter(place, at: now, into: &effects) : load(place, into: &effects)
        }
        if case .barred = seats[place].standing { seats[place].standing = .out }
        enter(place, at: now, into: &effects)
    }

    mutating func leave(_ room: RoomName, forgets: Bool, at now: Moment, into effects: inout [RoomsEffect]) {
        guard places[room] != nil || forgets else { return }
        let place = places[room] ?? seat(room, JoinWish(), isWanted: false)
        if seats[place].isWanted {
            if seats[place].wasAsked {
                if link.isUp { effects.append(.send(.leave(room))) } else { link.farewells.append(room) }
            }
            seats[place].wasAsked = false
            answered(place, at: now, into: &effects)
            for question in questions where question.room == room { giveUp(question, nil, at: now, into: &effects) }
            questions.removeAll { $0.room == room }
            refuseHeld(place, .notJoined, into: &effects)
            tell(.left, of: place, into: &effects)
            sleepers.insert(room)
            seats[place].isWanted = false
            seats[place].detach()
            seats[place].told = nil
            _ = seats[place].typing.clear()
            (seats[place].membership, seats[place].reads) = (RoomMembership(), [:])
            if renewal == nil { seats[place].store = .due } else { abandon(place) }
        }
        if forgets {
            if seats[place].store == .ready { (seats[place].inbox, seats[place].read) = (Inbox(), 0) }
            order(pending(room), [.forget(room)], into: &effects)
        }
        settleIfKnown(at: now, into: &effects)
        removeIfDone(room)
        joinNext(at: now, into: &effects)
        pumpAllIfTight(at: now, into: &effects)
    }

    /// Leaves all rooms as far as the hub is concerned: a connection that is only closed is shown there for a while.
    mutating func sayFarewell(at now: Moment, into effects: inout [RoomsEffect]) {
        guard link.isUp else { return }
        for place in seats.indices where seats[place].wasAsked { effects.append(.send(.leave(seats[place].room))) }
        drop(at: now, into: &effects)
    }

    /// A room that nobody wants is kept as long as something of it is under way.
    mutating func removeIfDone(_ room: RoomName) {
        guard let place = places[room], !seats[place].isWanted, seats[place].unwritten == 0, seats[place].loads == 0, renewal == nil,
            !ledger.pending.contains(where: \.isRenewal)
        else { return }
        places[room] = nil
        seats.swapAt(place, seats.count - 1)
        seats.removeLast()
        if place < seats.count { places[seats[place].room] = place }
    }

    func mayJoin(_ place: Int) -> Bool {
        seats[place].isWanted && seats[place].store == .ready && seats[place].standing == .out
            && seats[place].unwrittenEntries < policy.unwrittenEntries && seats[place].unwrittenBytes < policy.unwrittenBytes
    }

    func joinFrame(_ place: Int) -> ClientFrame.Join {
        let seat = seats[place]
        var (cursor, limit) = (seat.inbox.cursor, max(seat.wish.limit, 0))
        if cursor.epoch == 0 {
            limit = 0
            switch seat.wish.start {
            // One entry tells where the log ends; it is not taken.
            case .now: cursor = LogPosition(epoch: 0, seq: -1)
            case .last(let count): cursor = LogPosition(epoch: 0, seq: -min(max(count, 1), RoomsLimits.number - 1))
            case .beginning: cursor = .nowhere
            }
        }
        return ClientFrame.Join(
            room: seat.room, cursor: cursor, limit: limit, wantsPresence: seat.wish.wantsPresence, next: seat.outbox.next,
            proof: seat.inbox.proof)
    }

    /// Joins a room if it is time.
    mutating func enter(_ place: Int, at now: Moment, into effects: inout [RoomsEffect]) {
        guard mayJoin(place) else { return }
        guard link.isUp else { return tell(.waiting, of: place, into: &effects) }
        guard !link.isOneByOne else { return joinNext(at: now, into: &effects) }
        ask(place, at: now, into: &effects)
    }

    private mutating func ask(_ place: Int, at now: Moment, into effects: inout [RoomsEffect]) {
        seats[place].standing = .asked(until: now + policy.stateTimeout)
        seats[place].wasAsked = true
        remind(at: now + policy.stateTimeout)
        if !seats[place].isAttached { tell(.waiting, of: place, into: &effects) }
        effects.append(.send(.join(joinFrame(place))))
    }

    /// After too many failed resumes: the next of the rooms that are joined alone.
    mutating func joinNext(at now: Moment, into effects: inout [RoomsEffect]) {
        guard link.isOneByOne, link.isUp, link.lone == nil else { return }
        guard let place = seats.indices.first(where: { mayJoin($0) }) else {
            if seats.allSatisfy({ $0.suspicion == 0 }) { link.failedResumes = 0 }
            return
        }
        link.lone = seats[place].room
        ask(place, at: now, into: &effects)
    }

    /// The hub has said something about a join, or it is no longer wanted.
    mutating func answered(_ place: Int, at now: Moment, into effects: inout [RoomsEffect]) {
        link.lastState = now
        seats[place].suspicion = 0
        if link.resuming.remove(seats[place].room) != nil, link.resuming.isEmpty { link.failedResumes = 0 }
        if link.lone == seats[place].room { link.lone = nil }
    }

    mutating func putOff(_ place: Int, _ milliseconds: Int64, at now: Moment) {
        let least = Backoff(base: policy.leastPause, cap: policy.leastPause * 256).ceiling(attempt: seats[place].putOffs + 1)
        let pause = min(max(wait(milliseconds), least), policy.longestPause)
        seats[place].putOffs += 1
        seats[place].standing = .pausing(until: now + pause)
        remind(at: now + pause)
    }

    /// Goes on with a room once what was ordered for it is on disk.
    mutating func goOn(_ place: Int, at now: Moment, into effects: inout [RoomsEffect]) {
        guard seats[place].unwritten == 0 else { return }
        if seats[place].store == .due { return load(place, into: &effects) }
        if seats[place].standing == .behind { seats[place].standing = .out }
        enter(place, at: now, into: &effects)
    }
}
