import MachineCore

extension Reconnector {
    mutating func noteOpened(_ generation: UInt64, at now: Moment, into effects: inout [Effect]) {
        switch phase {
        case .connecting(let attempt) where attempt.generation == generation:
            needsRefresh = false
            enter(.connected(attempt, since: now), into: &effects)
        case .handingOver(let old, _, let new) where new.generation == generation:
            needsRefresh = false
            enter(.connected(new, since: now), into: &effects)
            effects.append(.retire(generation: old.generation))
        case .idle, .connecting, .connected, .handingOver, .waiting, .held, .stopped: break
        }
    }

    mutating func noteLost(_ generation: UInt64, _ loss: Loss, at now: Moment, into effects: inout [Effect]) {
        switch phase {
        case .connecting(let attempt) where attempt.generation == generation:
            retry(after: attempt, wasStable: false, hasLasted: false, loss, at: now, into: &effects)
        case .connected(let attempt, let since) where attempt.generation == generation:
            let hasLasted = now - since >= policy.stableAfter
            // What was good for long and is given up then begins a new count.
            if isRejected(attempt), hasLasted { forgive() }
            let wasStable = isStable(attempt, since: since, at: now)
            retry(after: attempt, wasStable: wasStable, hasLasted: hasLasted, loss, at: now, into: &effects)
        case .handingOver(let old, let since, let new) where new.generation == generation:
            note(loss, of: new, at: now)  // What serves is left in place, whatever the verdict.
            enter(.connected(old, since: since), into: &effects)
        case .handingOver(let old, let since, let new) where old.generation == generation:
            // The server may well have closed it because of the new one.
            failures = isStable(old, since: since, at: now) ? 0 : failures + 1
            setbacks = failures
            enter(.connecting(new), into: &effects)
        case .idle, .connecting, .connected, .handingOver, .waiting, .held, .stopped: break
        }
    }

    mutating func askForHandOver(at now: Moment, into effects: inout [Effect]) {
        guard case .connected = phase, !isHeld else { return }
        wantsHandOver = true
        wake(at: now, into: &effects)
    }

    mutating func handOver(from old: Attempt, since: Moment, at now: Moment, into effects: inout [Effect]) {
        wantsHandOver = false
        if isStable(old, since: since, at: now) { forgive() }
        enter(.handingOver(old, since: since, to: begin(at: now, into: &effects)), into: &effects)
    }

    /// Whatever comes counts from here.
    mutating func forgive() { (failures, setbacks, lastLoss) = (0, 0, nil) }

    private mutating func retry(
        after attempt: Attempt, wasStable: Bool, hasLasted: Bool, _ loss: Loss, at now: Moment, into effects: inout [Effect]
    ) {
        let verdict = policy.losses[loss.cause]
        // Credentials that were new and are refused again will not get better.
        let canRefresh = hasCredentials && (hasLasted || !attempt.refreshesCredentials)
        wantsHandOver = false
        countLoss(of: attempt, wasStable: wasStable, hasLasted: hasLasted)
        if verdict == .final || (verdict == .refreshCredentials && !canRefresh) { return enter(.stopped(.refused(loss)), into: &effects) }
        guard failures < policy.maximumAttempts else { return enter(.stopped(.exhausted(loss)), into: &effects) }
        note(loss, of: attempt, at: now)
        due = now + spread(policy.backoff.delay(attempt: setbacks, using: &random), at: now)
        if verdict == .retry, !wasStable, loss.cause.blamesEndpoint { rotate() }
        guard policy.isAutomatic else {
            forgive()
            return enter(.idle, into: &effects)
        }
        proceed(at: now, into: &effects)
    }

    /// A shorter wait than what is left of the spacing is added to it: clients that were refused together would else end their spacing
    /// together, whatever the jitter.
    func spread(_ delay: Duration, at now: Moment) -> Duration {
        let left = spaced - now
        return delay < left ? min(left + delay, policy.longestWait) : delay
    }
}

extension LossCause {
    /// Whether another endpoint may do better; none was asked if there were no credentials to show.
    fileprivate var blamesEndpoint: Bool { if case .credentials = self { false } else { true } }
}
