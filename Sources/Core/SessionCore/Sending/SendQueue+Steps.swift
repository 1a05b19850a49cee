import MachineCore

extension SendQueue {
    /// The message that the connection was handed and has not answered for.
    var handedOver: UInt64? {
        switch phase {
        case .sending(let id, _), .closing(let id, _): id
        case .disconnected, .ready, .blocked, .closed: nil
        }
    }

    mutating func submit(_ id: UInt64, _ send: WaitingSends.Send, into effects: inout [Effect]) {
        switch phase {
        case .closing, .closed: return refuse(id, .closed, into: &effects)
        case .disconnected where policy.whileDisconnected == .fail: return refuse(id, .disconnected, into: &effects)
        case .disconnected, .ready, .sending, .blocked: break
        }
        if let reason = makeRoom(for: send, into: &effects) {
            guard phase == .ready else { return refuse(id, reason, into: &effects) }
            return transmit(id, otherwise: reason, into: &effects)  // Who need not wait needs no room.
        }
        waiting.append(id, send)
        if let due = send.due {
            deadlines.insert(Deadlines.Deadline(moment: due, id: id))
        } else if case .wait = policy.whileDisconnected {
            arrivals.insert(Deadlines.Deadline(moment: send.submittedAt, id: id))
        }
        if phase == .ready { proceed(into: &effects) }
    }

    /// Hands over the next message, if any waits.
    mutating func proceed(into effects: inout [Effect]) {
        guard let next = waiting.next else { return phase = .ready }
        transmit(next, otherwise: nil, into: &effects)
    }

    private mutating func transmit(_ id: UInt64, otherwise: SendRefusal?, into effects: inout [Effect]) {
        phase = .sending(id, otherwise: otherwise)
        effects.append(.transmit(id))
        if otherwise != nil { effects.append(.recall(id)) }  // It goes at once or not at all.
    }

    /// Refuses a message that waits; one that is handed over is refused only if it is not taken.
    mutating func abandon(_ id: UInt64, _ reason: SendRefusal, into effects: inout [Effect]) {
        guard waiting[id] != nil else { return }
        remove(id)
        guard id == handedOver else { return refuse(id, reason, into: &effects) }
        phase = .sending(id, otherwise: reason)
        effects.append(.recall(id))
    }

    mutating func lose(at now: Moment, into effects: inout [Effect]) {
        if case .sending(let id, let otherwise?) = phase { refuse(id, otherwise, into: &effects) }
        phase = .disconnected(since: now)
        if policy.whileDisconnected == .fail { refuseAll(.disconnected, into: &effects) }
    }

    mutating func close(into effects: inout [Effect]) {
        switch phase {
        case .closing, .closed: return
        case .sending(let id, let otherwise):
            remove(id)
            phase = .closing(id, otherwise: otherwise ?? .closed)
        case .disconnected, .ready, .blocked: phase = .closed
        }
        refuseAll(.closed, into: &effects)
    }

    private mutating func refuseAll(_ reason: SendRefusal, into effects: inout [Effect]) {
        while let next = waiting.next {
            remove(next)
            refuse(next, reason, into: &effects)
        }
    }

    mutating func refuse(_ id: UInt64, _ reason: SendRefusal, into effects: inout [Effect]) {
        if reason == .overflow || reason == .dropped { dropped += 1 }
        effects.append(.refused(id, reason))
    }
}
