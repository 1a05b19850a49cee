public import MachineCore

extension Heartbeat {
    /// When the next ping is due, expires, or has met silence for too long; nil if none can.
    public var deadline: Moment? {
        var earliest = pingDue
        for ping in pings {
            guard let due = due(ping), due < earliest ?? .distantFuture else { continue }
            earliest = due
        }
        return earliest
    }

    /// Sends the ping that is due, expires what has waited too long, and tells death.
    public mutating func wake(at now: Moment, into effects: inout [Effect]) {
        let overdue = pings.filter { ping in due(ping).map { now >= $0 } ?? false }
        if overdue.contains(where: { $0.id == nil }) {
            effects.append(.dead)
            return end(into: &effects)
        }
        for ping in overdue { if let id = ping.id { effects.append(.expired(id)) } }
        pings.removeAll(where: overdue.contains)
        guard let pingDue, now >= pingDue else { return }
        sendAutomatic(isProbe: false, at: now, into: &effects)
    }

    /// Whether an automatic ping has left and has met nothing but silence.
    public var meetsSilence: Bool { pings.contains { $0.writtenAt != nil && isAsking($0) } }

    /// When silence calls for an automatic ping; nil while one is out that has met nothing else.
    private var pingDue: Moment? {
        guard let interval, !isPaused, !isEnded, !pings.contains(where: isAsking) else { return nil }
        return lastActivity + interval
    }

    /// When a ping has waited long enough; nil if it may wait for ever.
    private func due(_ ping: Ping) -> Moment? {
        switch (ping.id, ping.writtenAt) {
        case (.some, let written?): written + ping.patience
        case (.some, nil): ping.queuedAt + stall
        case (nil, _) where isPaused || !isAsking(ping): nil
        case (nil, let written?): written + ping.patience
        case (nil, nil): max(ping.queuedAt, lastActivity) + stall
        }
    }

    /// Whether this is an automatic ping that has met only silence: any byte since it left is an answer.
    func isAsking(_ ping: Ping) -> Bool { ping.id == nil && ping.writtenAt.map { lastActivity <= $0 } ?? true }
}
