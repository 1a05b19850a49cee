import MachineCore
import SessionCore
import Testing

/// What holds for everything that is sent, whatever happens to a session.
struct SendCheck {
    private var open: Set<UInt64> = []
    private var faults: [String] = []
    /// The connection that serves, as the session has told.
    private var serving: UInt64?
    private var told = SendVolume()
    private var inHand: UInt64?

    /// What the session is told.
    mutating func note(_ input: Session.Input) {
        switch input {
        case .submit(let id, _, _, _): open.insert(id)
        case .taken(let id):
            inHand = nil
            end(id, "taken")
        case .blocked: inHand = nil
        default: break
        }
    }

    /// What the session orders.
    mutating func note(_ effect: Session.Effect, isOver: Bool) {
        switch effect {
        case .report(.connected(let attempt, _)), .report(.handingOver(let attempt, _, _)): serving = attempt.generation
        case .report: serving = nil
        case .transmit(let id, let generation):
            if generation != serving { faults.append("\(id) is handed to connection \(generation), and \(serving ?? 0) serves") }
            if !open.contains(id) { faults.append("\(id) is handed over after its end") }
            inHand = id
        case .refused(let id, let reason):
            if id == inHand { faults.append("\(id) is refused while a connection has it in hand") }
            if isOver, reason == .overflow || reason == .dropped { faults.append("\(id) gives way after the end") }
            end(id, "refused: \(reason)")
        case .backlog(let volume): told = volume
        default: break
        }
    }

    /// What waits, after every step.
    mutating func note(_ backlog: SendVolume, _ policy: SendPolicy) {
        if backlog != told { faults.append("\(backlog) waits, and \(told) was told") }
        if policy.whileDisconnected == .queue, !backlog.fits(in: policy.capacity) { faults.append("\(backlog) waits") }
    }

    private mutating func end(_ id: UInt64, _ how: String) {
        if open.remove(id) == nil { faults.append("\(id) ends twice: \(how)") }
    }

    /// After the end: nothing is left, and every lane kept its order.
    func settle(_ mail: World.Mail, seed: UInt64) {
        let faults = faults + mail.faults
        #expect(faults.isEmpty, "seed \(seed): \(faults.prefix(5))")
        #expect(open.isEmpty, "seed \(seed): some sends never ended: \(open.sorted().prefix(5))")
        for lane in Lane.allCases {
            let ids = mail.taken.filter { World.lane(of: $0) == lane }
            #expect(ids == ids.sorted(), "seed \(seed): \(lane) is out of order")
        }
        #expect(mail.last > 50, "seed \(seed): a run that says nothing")
    }
}
