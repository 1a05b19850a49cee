public import MachineCore

extension Reconnector {
    /// When the wait is over; nil unless waiting.
    public var deadline: Moment? {
        if case .waiting(let until, _) = phase { until } else { nil }
    }

    /// Connects if the wait is over; calling early or twice is harmless.
    public mutating func wake(at now: Moment, into effects: inout [Effect]) {
        guard case .waiting(let until, let attempt) = phase, now >= until else { return }
        connect(attempt: attempt, into: &effects)
    }

    mutating func connect(attempt: Int, into effects: inout [Effect]) {
        generation &+= 1
        effects.append(.connect(attempt: attempt, generation: generation))
        enter(.connecting(attempt: attempt), into: &effects)
    }

    mutating func retry(after attempt: Int, _ loss: Loss, at now: Moment, into effects: inout [Effect]) {
        guard loss.isRetryable else { return enter(.stopped(.refused(loss)), into: &effects) }
        guard attempt < policy.maximumAttempts else { return enter(.stopped(.exhausted(loss)), into: &effects) }
        let delay = policy.backoff.delay(attempt: attempt + 1, using: &random)
        enter(.waiting(until: now + delay, attempt: attempt + 1), into: &effects)
    }

    mutating func enter(_ phase: Phase, into effects: inout [Effect]) {
        self.phase = phase
        effects.append(.report(phase))
    }
}
