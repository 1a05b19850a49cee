public import MachineCore

extension CredentialKeeper {
    /// When the provider has had its time, or the next refresh is due; nil if neither can be.
    public var deadline: Moment? {
        switch phase {
        case .resting: isConnected ? refreshAt : nil
        case .fetching(let until, _): until
        case .ended: nil
        }
    }

    /// Gives up a fetch that takes too long, or starts one ahead of the expiry; calling early or twice is harmless.
    public mutating func wake(at now: Moment, into effects: inout [Effect]) {
        guard let deadline, now >= deadline else { return }
        guard case .fetching(_, let isNeeded) = phase else { return fetch(isNeeded: false, at: now, into: &effects) }
        effects.append(.cancelFetch)
        fail(isRetryable: true, isNeeded: isNeeded, at: now, into: &effects)
    }

    mutating func fetch(isNeeded: Bool, at now: Moment, into effects: inout [Effect]) {
        lastFetch &+= 1
        phase = .fetching(until: now + policy.timeout, isNeeded: isNeeded)
        effects.append(.fetch(lastFetch))
    }

    mutating func take(life: Duration?, isNeeded: Bool, at now: Moment, into effects: inout [Effect]) {
        if isNeeded {
            keep(life, at: now)
            isSpare = false
            effects.append(.ready)
        } else if isConnected {
            guard isWorthwhile(life, at: now) else { return refreshLater(at: now) }
            keep(life, at: now)
            isSpare = true
            effects.append(.handOver)
        }
        // Else the connection was lost meanwhile: the attempt at the next one asks for its own.
    }

    mutating func fail(isRetryable: Bool, isNeeded: Bool, at now: Moment, into effects: inout [Effect]) {
        phase = .resting
        if isRetryable { refreshLater(at: now) } else { refreshAt = nil }
        if isNeeded { effects.append(.unavailable(isRetryable: isRetryable)) }
    }

    private mutating func keep(_ life: Duration?, at now: Moment) {
        expiry = life.map { now + $0 }
        // A life too short to hand over in is lived to its end: no refresh comes sooner than the pause allows.
        refreshAt = life.flatMap { life in
            let untilRefresh = life - min(policy.refreshAhead, life / 10)
            return policy.refreshAhead > .zero && untilRefresh >= Self.pause ? now + untilRefresh : nil
        }
    }

    /// Tries again after half the time that is left, and no more once that is too short.
    private mutating func refreshLater(at now: Moment) {
        let wait = expiry.map { max(($0 - now) / 2, Self.pause) }
        refreshAt = wait.map { now + $0 }.flatMap { $0 < expiry ?? $0 ? $0 : nil }
    }

    /// A provider with a store of its own can give the old credential once more; no new connection is made for that.
    private func isWorthwhile(_ life: Duration?, at now: Moment) -> Bool {
        guard let life, let expiry else { return true }
        return life > .zero && now + life >= expiry + Self.pause
    }
}
