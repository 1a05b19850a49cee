package import MachineCore
internal import ProtocolCore

extension ClientMachine {
    /// What is due: a deadline that has passed, or another try.
    package mutating func wake(at now: Moment, into effects: inout [ClientEffect]) {
        while let alarm = alarms.due(at: now) {
            switch alarm {
            case .join:
                abort(WAMPURI.Error.timeout, "joining took too long", into: &effects)
                drop(.joinTimedOut, at: now, into: &effects)
            case .goodbye: drop(.left, at: now, into: &effects)
            case .listener(let handle): timeOut(listener: handle, at: now, into: &effects)
            case .topic(let number): wakeTopic(number, at: now, into: &effects)
            case .procedure(let number): timeOut(procedure: number, at: now, into: &effects)
            case .registering(let number): wakeProcedure(number, at: now, into: &effects)
            }
        }
        while let request = requests.overdue(at: now) { end(request, .timedOut(wasSent: true), into: &effects) }
        while let waiting = line.overdue(at: now) { effects.append(.event(.failed(waiting.id, .timedOut(wasSent: false)))) }
    }
}

extension Duration {
    /// As much of it as a moment can be away: longer than any process lives, where an app means for ever.
    package var bounded: Duration { min(max(self, .zero), .seconds(1 << 32)) }
}
