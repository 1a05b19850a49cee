import MachineCore

/// What a protocol says of the connections it runs over: one that is ready is healthy at once, and one that only stays open is not.
extension Reconnector {
    struct Verdict: Hashable {
        let generation: UInt64
        let isReady: Bool
    }
    struct CountedLoss: Hashable {
        let generation: UInt64
        let failures, setbacks: Int
        var wasStable: Bool
        /// It lasted as long as a connection must without a protocol.
        let hasLasted: Bool
    }

    mutating func judge(_ generation: UInt64, isReady: Bool, at now: Moment, into effects: inout [Effect]) {
        // What was given up does not become ready any more.
        if let verdict, verdict.generation > generation || verdict.generation == generation && !verdict.isReady { return }
        verdict = Verdict(generation: generation, isReady: isReady)
        guard let lastLoss, lastLoss.generation == generation, lastLoss.wasStable != isReady else { return }
        self.lastLoss?.wasStable = isReady
        // What was good for long begins a new count, as if it had been told in time.
        if !isReady, lastLoss.hasLasted { (failures, setbacks) = (1, 1) } else { count(lastLoss, wasStable: isReady) }
        guard case .waiting = phase else { return }
        let end = now + spread(policy.backoff.delay(attempt: setbacks, using: &random), at: now)
        due = isReady ? min(due, end) : max(due, end)
        proceed(at: now, into: &effects)
    }

    /// Whether a connection was good enough for its loss to start the count afresh.
    ///
    /// A flapping link keeps its backoff.
    func isStable(_ attempt: Attempt, since: Moment, at now: Moment) -> Bool {
        if let verdict, verdict.generation == attempt.generation { return verdict.isReady }
        return !awaitsReadiness && now - since >= policy.stableAfter
    }

    /// Whether the protocol gave it up.
    func isRejected(_ attempt: Attempt) -> Bool { verdict == Verdict(generation: attempt.generation, isReady: false) }

    /// Counts the loss of a connection, which may be counted anew once more is known of it.
    mutating func countLoss(of attempt: Attempt, wasStable: Bool, hasLasted: Bool) {
        let loss = CountedLoss(
            generation: attempt.generation, failures: failures, setbacks: setbacks, wasStable: wasStable, hasLasted: hasLasted)
        count(loss, wasStable: wasStable)
        lastLoss = awaitsReadiness ? loss : nil
    }

    private mutating func count(_ loss: CountedLoss, wasStable: Bool) {
        failures = wasStable ? 0 : loss.failures + 1
        setbacks = wasStable ? 1 : loss.setbacks + 1
    }
}
