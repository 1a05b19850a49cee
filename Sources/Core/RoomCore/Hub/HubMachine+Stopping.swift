import MachineCore

// "A hub that stops".
extension HubMachine {
    mutating func stop(at now: Moment, into effects: inout [HubEffect]) {
        guard !isStopping else { return }
        isStopping = true
        rooms.forEach { name, room in if !room.sequencer.isIdle { unsettled.insert(name) } }
        for id in visits.keys {
            guard visits[id]?.identity != nil else {
                end(id, Refusal(.stopping, retry: .reconnect, "the hub is stopping"), at: now, into: &effects)
                continue
            }
            let after = Int64.random(in: policy.stayAway, using: &chance)
            effects.append(.send(.goaway(.init(after: after, drain: policy.drain.wholeMilliseconds)), to: id))
        }
        alarms.set(.drain, at: now + policy.drain)
        if unsettled.isEmpty { closeAll(at: now, into: &effects) }
    }

    /// Closes all connections, once nothing that was taken is pending in any room.
    mutating func closeIfSettled(_ name: RoomName, at now: Moment, into effects: inout [HubEffect]) {
        guard isStopping, rooms[name]?.sequencer.isIdle != false else { return }
        unsettled.remove(name)
        if unsettled.isEmpty { closeAll(at: now, into: &effects) }
    }

    mutating func closeAll(at now: Moment, into effects: inout [HubEffect]) {
        for id in visits.keys { close(id, code: 4004, "the hub stops", at: now, into: &effects) }
        // Nothing is waited for any more: neither a resume, nor a room that could be written again.
        alarms = Alarms<Alarm>()
    }
}
