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
            // If a connection lasted long and is then rejected, the count starts anew.
            if isRejected(attempt), hasLasted { forgive() }
            let wasStable = isStable(attempt, since: since, at: now)
            retry(after: attempt, wasStable: wasStable, hasLasted: hasLasted, loss, at: now, into: &effects)
        case .handingOver(let old, let since, let new) where new.generation == generation:
            note(loss, of: new, at: now)  // The serving connection stays, whatever the verdict.
            enter(.connected(old, since: since), into: &effects)
        case .handingOver(let old, let since, let new) where old.generation == generation:
            // The server may have closed it because of the new one.
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

    /// Resets the failure counts.
    mutating func forgive() { (failures, setbacks, lastLoss) = (0, 0, nil) }

    private mutating func retry(
        after attempt: Attempt, wasStable: Bool, hasLasted: Bool, _ loss: Loss, at now: Moment, into effects: inout [Effect]
    ) {
        let verdict = policy.losses[loss.cause]
        // If new credentials are refused, refreshing them again does not help.
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

    /// Adds the remaining spacing to a wait that is shorter than it.
    ///
    /// Otherwise clients that were refused together would all come back at the end of the spacing, whatever the jitter.
    func spread(_ delay: Duration, at now: Moment) -> Duration {
        let left = spaced - now
        return delay < left ? min(left + delay, policy.longestWait) : delay
    }

    mutating func start(at now: Moment, into effects: inout [Effect]) {
        guard phase == .idle else { return }
        due = now
        proceed(at: now, into: &effects)
    }

    /// Resets the failure counts, because the app has made a new decision.
    mutating func disconnect(into effects: inout [Effect]) {
        giveUp(into: &effects)
        forgive()
        enter(.idle, into: &effects)
    }

    mutating func retryNow(at now: Moment, into effects: inout [Effect]) {
        switch phase {
        case .idle: start(at: now, into: &effects)
        case .waiting:
            due = now
            proceed(at: now, into: &effects)
        case .connecting, .connected, .handingOver, .held, .stopped: break
        }
    }

    /// Forgives earlier failures, because the network caused them.
    mutating func startAfresh(at now: Moment, into effects: inout [Effect]) {
        switch phase {
        case .connecting: forgive()
        case .waiting:
            forgive()
            due = now
            proceed(at: now, into: &effects)
        case .idle, .connected, .handingOver, .held, .stopped: break
        }
    }

    mutating func hold(keepingOpen: Bool, at now: Moment, into effects: inout [Effect]) {
        isHeld = true
        wantsHandOver = false
        switch phase {
        case .connecting(let attempt): pause(attempt, at: now, into: &effects)
        case .handingOver(let old, let since, let new) where keepingOpen:
            effects.append(.disconnect(generation: new.generation))
            enter(.connected(old, since: since), into: &effects)
        case .handingOver(let old, let since, let new):
            effects.append(.disconnect(generation: new.generation))
            pause(old, since: since, at: now, into: &effects)
        case .connected(let attempt, let since) where !keepingOpen: pause(attempt, since: since, at: now, into: &effects)
        case .waiting: enter(.held, into: &effects)  // `due` still holds the end of the wait.
        case .idle, .connected, .held, .stopped: break
        }
    }

    mutating func release(fresh: Bool, at now: Moment, into effects: inout [Effect]) {
        isHeld = false
        guard phase == .held else { return }
        if fresh {
            forgive()
            due = now
        }
        proceed(at: now, into: &effects)
    }

    mutating func stop(into effects: inout [Effect]) {
        giveUp(into: &effects)
        enter(.stopped(.asked), into: &effects)
    }

    /// Closes the open connection and cancels the attempt in progress.
    private mutating func giveUp(into effects: inout [Effect]) {
        switch phase {
        case .connecting(let attempt), .connected(let attempt, _): effects.append(.disconnect(generation: attempt.generation))
        case .handingOver(let old, _, let new):
            effects += [.disconnect(generation: new.generation), .disconnect(generation: old.generation)]
        case .idle, .waiting, .held, .stopped: break
        }
        wantsHandOver = false
    }

    /// Gives up the open connection or the attempt in progress.
    ///
    /// This does not count as a failure.
    private mutating func pause(_ attempt: Attempt, since: Moment? = nil, at now: Moment, into effects: inout [Effect]) {
        if let since, isStable(attempt, since: since, at: now) { forgive() }
        effects.append(.disconnect(generation: attempt.generation))
        due = now
        enter(.held, into: &effects)
    }
}

extension LossCause {
    /// Whether another endpoint may succeed.
    ///
    /// Without credentials, no endpoint was contacted.
    fileprivate var blamesEndpoint: Bool { if case .credentials = self { false } else { true } }
}
