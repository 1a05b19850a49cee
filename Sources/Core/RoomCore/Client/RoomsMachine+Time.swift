package import MachineCore
import ProtocolCore

/// Timers.
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
            for place in clientRooms.indices where clientRooms[place].store == .ready { abandon(place) }
            settleIfKnown(at: now, into: &effects)
        }
        for place in clientRooms.indices { wake(place, at: now, into: &effects) }
        joinNext(at: now, into: &effects)
        setAlarm()
    }

    private mutating func wake(_ place: Int, at now: Moment, into effects: inout [RoomsEffect]) {
        if case .resting(let until, _) = clientRooms[place].store, until <= now {
            clientRooms[place].store = .due
            load(place, into: &effects)
        }
        if clientRooms[place].typing.forget(at: now) { notifyTyping(place, into: &effects) }
        guard link.isUp else { return }
        switch clientRooms[place].standing {
        case .pausing(let until) where until <= now:
            clientRooms[place].standing = .out
            enter(place, at: now, into: &effects)
        case .asked(let until) where until <= now:
            // While the hub answers other joins, it is busy.
            guard link.lastState + policy.stateTimeout <= now else {
                clientRooms[place].standing = .asked(until: link.lastState + policy.stateTimeout)
                break
            }
            // Two time limits have passed without any answer: the connection may be half open.
            let isSilent = link.lastState + policy.stateTimeout * 2 <= now
            if isSilent || link.lone == clientRooms[place].room {
                return breakOff(.rejected("a join is not answered"), at: now, into: &effects)
            }
            nonsense(place, at: now, into: &effects)
        default: break
        }
        if let until = clientRooms[place].holdUntil, until <= now {
            pump(place, at: now, into: &effects)
            if let until = clientRooms[place].holdUntil, until <= now { clientRooms[place].holdUntil = nil }
        }
        if let moment = clientRooms[place].fillAgainAt, moment <= now {
            clientRooms[place].fillAgainAt = nil
            fillUp(place, at: now, into: &effects)
        }
        if let moment = clientRooms[place].resendAt, moment <= now {
            clientRooms[place].resendAt = nil
            clientRooms[place].resends += 1
            guard clientRooms[place].resends <= policy.resends else {
                return breakOff(.rejected("publications are not acked"), at: now, into: &effects)
            }
            clientRooms[place].outbox.rewind()
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
        for clientRoom in clientRooms {
            if case .resting(let until, _) = clientRoom.store { add(until) }
            add(clientRoom.typing.deadline)
            guard link.isUp else { continue }
            switch clientRoom.standing {
            case .pausing(let until), .asked(let until): add(until)
            default: break
            }
            add(clientRoom.holdUntil)
            add(clientRoom.resendAt)
            add(clientRoom.fillAgainAt)
        }
    }
}

/// The hub's time, as far as the client knows it.
///
/// It continues with the driver's moments, so that a change of the system clock during a connection has no effect.
struct ClientClock: Hashable, Sendable {
    private struct Reading: Hashable, Sendable {
        var milliseconds: Int64
        var moment: Moment

        init(_ milliseconds: Int64, _ moment: Moment) { (self.milliseconds, self.moment) = (milliseconds.asTime, moment) }

        func time(at now: Moment) -> Int64 { milliseconds.clampedSum((now - moment).wholeMilliseconds).asTime }
    }
    private var calendar: Reading?
    private var hub: Reading?

    /// Records the time of the local system clock.
    mutating func read(calendar milliseconds: Int64, at now: Moment) { calendar = Reading(milliseconds, now) }

    /// Records the time of the hub's clock.
    mutating func heard(hub milliseconds: Int64, at now: Moment) { hub = Reading(milliseconds, now) }

    /// Whether the hub's clock is known, so that no later correction is needed.
    var knowsHub: Bool { hub != nil }

    /// Milliseconds since 1970 UTC by the hub's clock, or by the local clock until the hub's is known; nil if neither is known.
    func now(at now: Moment) -> Int64? { (hub ?? calendar)?.time(at: now) }

    /// Converts a local time to the hub's clock, limited to times that are valid on the wire.
    func corrected(_ milliseconds: Int64, at now: Moment) -> Int64 {
        guard let hub, let calendar else { return milliseconds.asTime }
        return (milliseconds.asTime + hub.time(at: now) - calendar.time(at: now)).asTime
    }
}

extension Int64 {
    fileprivate func clampedSum(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }

    /// The nearest number that is a valid time on the wire.
    fileprivate var asTime: Int64 { Swift.min(Swift.max(self, 0), RoomsLimits.number - 1) }
}
