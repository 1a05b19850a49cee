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
        guard case .disconnected(let since) = phase, case .wait(let limit) = policy.whileDisconnected else { return deadlines.first }
        // In each lane the oldest has waited longest.
        var first = deadlines.first
        for id in waiting.oldest {
            guard let send = waiting[id] else { continue }
            let due = Deadlines.Deadline(moment: max(since, send.submittedAt) + limit, id: id)
            first = min(first ?? due, due)
        }
        return first
    }

    /// Takes a message out of those that wait, and its deadline with it.
    mutating func remove(_ id: UInt64) {
        waiting.remove(id)
        // Deadlines of others that went before their time stay until they come first, or are the most.
        if deadlines.count > 2 * depth.count + 16 { deadlines.removeAll { [waiting] in waiting[$0.id]?.due != $0.moment } }
        while let first = deadlines.first, waiting[first.id]?.due != first.moment { deadlines.removeFirst() }
    }
}
