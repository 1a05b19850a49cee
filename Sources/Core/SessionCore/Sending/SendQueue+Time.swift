public import MachineCore

extension SendQueue {
    /// When the first message has waited long enough; nil if none is in a hurry.
    public var deadline: Moment? { nextOverdue?.moment }

    /// Refuses what has waited long enough; calling early or twice is harmless.
    public mutating func wake(at now: Moment, into effects: inout [Effect]) {
        while let next = nextOverdue, next.moment <= now { abandon(next.id, .timedOut, into: &effects) }
    }

    /// The first whose caller's patience ends, or the policy's while there is no connection.
    private var nextOverdue: Deadlines.Deadline? {
        guard case .disconnected(let since) = phase, case .wait(let limit) = policy.whileDisconnected, let oldest = arrivals.first else {
            return deadlines.first
        }
        let due = Deadlines.Deadline(moment: max(since, oldest.moment) + limit, id: oldest.id)
        return min(deadlines.first ?? due, due)
    }

    /// Takes a message out of those that wait, and its deadline with it.
    mutating func remove(_ id: UInt64) {
        waiting.remove(id)
        // Deadlines of others that went before their time stay until they come first, or are the most.
        deadlines.drop(atMost: 2 * depth.count + 16) { [waiting] in waiting[$0.id]?.due != $0.moment }
        arrivals.drop(atMost: 2 * depth.count + 16) { [waiting] in
            guard let send = waiting[$0.id] else { return true }
            return send.due != nil || send.submittedAt != $0.moment
        }
    }
}
