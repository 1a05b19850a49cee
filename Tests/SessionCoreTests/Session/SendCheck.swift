import MachineCore
import SessionCore
import Testing

/// The invariants of all sends of a session.
struct SendCheck {
    private var open: Set<UInt64> = []
    private var faults: [String] = []
    /// The connection that serves, as reported by the session.
    private var serving: UInt64?
    private var reported = SendVolume()
    private var handedOver: UInt64?

    /// Notes an input of the session.
    mutating func note(_ input: Session.Input) {
        switch input {
        case .submit(let id, _, _, _): open.insert(id)
        case .taken(let id):
            handedOver = nil
            end(id, "taken")
        case .blocked: handedOver = nil
        default: break
        }
    }

    /// Notes an effect of the session.
    mutating func note(_ effect: Session.Effect, isOver: Bool) {
        switch effect {
        case .report(.connected(let attempt, _)), .report(.handingOver(let attempt, _, _)): serving = attempt.generation
        case .report: serving = nil
        case .transmit(let id, let generation):
            if generation != serving { faults.append("\(id) is handed to connection \(generation), but \(serving ?? 0) serves") }
            if !open.contains(id) { faults.append("\(id) is handed over after its end") }
            handedOver = id
        case .refused(let id, let reason):
            if id == handedOver { faults.append("\(id) is refused while it is handed over") }
            if isOver, reason == .overflow || reason == .dropped { faults.append("\(id) is dropped after the end") }
            end(id, "refused: \(reason)")
        case .backlog(let volume): reported = volume
        default: break
        }
    }

    /// Checks the backlog after every step.
    mutating func note(_ backlog: SendVolume, _ policy: SendPolicy) {
        if backlog != reported { faults.append("the backlog is \(backlog), but \(reported) was reported") }
        if policy.whileDisconnected == .queue, !backlog.fits(in: policy.capacity) { faults.append("\(backlog) exceeds the capacity") }
    }

    private mutating func end(_ id: UInt64, _ how: String) {
        if open.remove(id) == nil { faults.append("\(id) ends twice: \(how)") }
    }

    /// Checks that no send is left and that every lane kept its order.
    func settle(_ mail: World.Mail, seed: UInt64) {
        let faults = faults + mail.faults
        #expect(faults.isEmpty, "seed \(seed): \(faults.prefix(5))")
        #expect(open.isEmpty, "seed \(seed): sends without an end: \(open.sorted().prefix(5))")
        for lane in Lane.allCases {
            let ids = mail.taken.filter { World.lane(of: $0) == lane }
            #expect(ids == ids.sorted(), "seed \(seed): \(lane) is out of order")
        }
        #expect(mail.last > 50, "seed \(seed): the run sent too few messages")
    }
}
