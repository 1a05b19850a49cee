import MachineCore

// A slow member never slows the room: it loses its place among the live, and joins again when it can.
extension HubMachine {
    /// A client does not read as fast as it is told: nothing that many get goes to it any more.
    mutating func congest(_ id: ConnectionID, at now: Moment) {
        guard let visit = visits[id], !visit.isCongested else { return }
        visits[id]?.isCongested = true
        reads.hold(id)
        alarms.set(.slow(id), at: now + policy.slowFor)
        for name in visit.rooms.sorted() {
            rooms[name]?.mute(id)
            guard rooms[name]?.members[id]?.phase == .live else { continue }
            rooms[name]?.members[id]?.phase = .behind
            rooms[name]?.members[id]?.isLagged = true
        }
    }

    /// It has caught up, and is told where to join again.
    ///
    /// It hears of what nobody stores, and sees who is there, from the next state on: to tell all that at once would congest it again.
    mutating func relieve(_ id: ConnectionID, at now: Moment, into effects: inout [HubEffect]) {
        guard let visit = visits[id], visit.isCongested else { return }
        visits[id]?.isCongested = false
        reads.release(id)
        alarms.cancel(.slow(id))
        for name in visit.rooms.sorted() {
            guard let member = rooms[name]?.members[id], member.isLagged else { continue }
            rooms[name]?.members[id]?.isLagged = false
            // One who has asked again meanwhile gets a state anyway.
            guard member.phase == .behind else { continue }
            counts.lagged += 1
            effects.append(.send(.lag(name, head: rooms[name]?.head ?? 0), to: id))
        }
        advance(id, at: now, into: &effects)
        readOn(at: now, into: &effects)
    }
}
