public import MachineCore

extension Reconnector {
    /// When the wait, or that for a hand-over, is over; nil if there is none.
    public var deadline: Moment? {
        switch phase {
        case .waiting(let until, _): until
        case .connected where wantsHandOver: earliest(endpoint)
        case .idle, .connecting, .connected, .handingOver, .held, .stopped: nil
        }
    }

    /// Connects if the wait is over; calling early or twice is harmless.
    public mutating func wake(at now: Moment, into effects: inout [Effect]) {
        guard let deadline, now >= deadline else { return }
        if case .connected(let old, let since) = phase {
            handOver(from: old, since: since, at: now, into: &effects)
        } else {
            enter(.connecting(begin(at: now, into: &effects)), into: &effects)
        }
    }

    /// Connects as soon as the backoff, the spacing and the server allow.
    mutating func proceed(at now: Moment, into effects: inout [Effect]) {
        if isHeld { return enter(.held, into: &effects) }
        let until = max(due, earliest(endpoint))
        if until > now { return enter(.waiting(until: until, attempt: failures + 1), into: &effects) }
        enter(.connecting(begin(at: now, into: &effects)), into: &effects)
    }

    /// The next attempt, on its way.
    mutating func begin(at now: Moment, into effects: inout [Effect]) -> Attempt {
        generation &+= 1
        spaced = now + policy.spacing
        barred[endpoint] = nil
        let attempt = Attempt(number: failures + 1, generation: generation, endpoint: endpoint, refreshesCredentials: needsRefresh)
        effects.append(.connect(attempt))
        return attempt
    }

    /// When an attempt at this endpoint may begin, whatever the backoff says.
    func earliest(_ endpoint: Int) -> Moment { max(spaced, barred[endpoint] ?? .start) }

    /// Goes on to the next endpoint in turn, past those that ask for more patience than the others.
    mutating func rotate() {
        let turn = (1...endpoints).map { (endpoint + $0) % endpoints }
        endpoint = turn.min { max(due, earliest($0)) < max(due, earliest($1)) } ?? 0
    }

    /// Keeps what a loss says about the attempts to come.
    mutating func note(_ loss: Loss, of attempt: Attempt, at now: Moment) {
        if policy.losses[loss.cause] == .refreshCredentials { needsRefresh = true }
        if let patience = loss.retryAfter, patience > .zero { barred[attempt.endpoint] = now + min(patience, policy.longestRetryAfter) }
    }

    mutating func enter(_ phase: Phase, into effects: inout [Effect]) {
        guard phase != self.phase else { return }
        self.phase = phase
        effects.append(.report(phase))
    }
}
