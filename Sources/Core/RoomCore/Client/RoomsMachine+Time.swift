package import MachineCore
import ProtocolCore

/// What happens when nothing happens.
extension RoomsMachine {
    package mutating func wake(at now: Moment, into effects: inout [RoomsEffect]) {
        guard let alarm, alarm <= now else { return }
        self.alarm = nil
        if case .greeting(let until) = link.phase, until <= now { breakOff(after: 0, at: now, into: &effects) }
        breakOffIfDrained(at: now, into: &effects)
        for question in questions where question.until <= now { giveUp(question, nil, at: now, into: &effects) }
        questions.removeAll { $0.until <= now }
        if let moment = link.tokenAt, moment <= now {
            link.tokenAt = nil
            effects.append(.event(.tokenWanted))
        }
        if let deadline = renewal?.deadline, deadline <= now {
            renewal?.deadline = nil
            for place in seats.indices where seats[place].store == .ready { abandon(place) }
            settleIfKnown(at: now, into: &effects)
        }
        for place in seats.indices { wake(place, at: now, into: &effects) }
        joinNext(at: now, into: &effects)
        setAlarm()
    }

    private mutating func wake(_ place: Int, at now: Moment, into effects: inout [RoomsEffect]) {
        if case .resting(let until, _) = seats[place].store, until <= now {
            seats[place].store = .due
            load(place, into: &effects)
        }
        if seats[place].typing.forget(at: now) { tellTyping(place, into: &effects) }
        guard link.isUp else { return }
        switch seats[place].standing {
        case .pausing(let until) where until <= now:
            seats[place].standing = .out
            enter(place, at: now, into: &effects)
        case .asked(let until) where until <= now:
            // As long as it answers others, it is busy.
            guard link.lastState + policy.stateTimeout <= now else {
                seats[place].standing = .asked(until: link.lastState + policy.stateTimeout)
                break
            }
            // Asked twice, and nothing came: the link may be half open.
            let isSilent = link.lastState + policy.stateTimeout * 2 <= now
            if isSilent || link.lone == seats[place].room {
                return breakOff(.rejected("a join is not answered"), at: now, into: &effects)
            }
            nonsense(place, at: now, into: &effects)
        default: break
        }
        if let until = seats[place].holdUntil, until <= now {
            pump(place, at: now, into: &effects)
            if let until = seats[place].holdUntil, until <= now { seats[place].holdUntil = nil }
        }
        if let moment = seats[place].fillAgainAt, moment <= now {
            seats[place].fillAgainAt = nil
            fillUp(place, at: now, into: &effects)
        }
        if let moment = seats[place].resendAt, moment <= now {
            seats[place].resendAt = nil
            seats[place].resends += 1
            guard seats[place].resends <= policy.resends else {
                return breakOff(.rejected("publications are not acked"), at: now, into: &effects)
            }
            seats[place].outbox.rewind()
            pump(place, at: now, into: &effects)
        }
    }

    private mutating func setAlarm() {
        func add(_ moment: Moment?) {
            if let moment { remind(at: moment) }
        }
        switch link.phase {
        case .greeting(let until), .draining(let until, _): add(until)
        default: break
        }
        add(renewal?.deadline)
        add(link.tokenAt)
        for question in questions { add(question.until) }
        for seat in seats {
            if case .resting(let until, _) = seat.store { add(until) }
            add(seat.typing.deadline)
            guard link.isUp else { continue }
            switch seat.standing {
            case .pausing(let until), .asked(let until): add(until)
            default: break
            }
            add(seat.holdUntil)
            add(seat.resendAt)
            add(seat.fillAgainAt)
        }
    }
}
