import MachineCore

extension Reconnector {
    mutating func start(at now: Moment, into effects: inout [Effect]) {
        guard phase == .idle else { return }
        due = now
        proceed(at: now, into: &effects)
    }

    /// The app counts afresh: it has decided anew.
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

    /// What failed before was the network's doing.
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
        case .waiting: enter(.held, into: &effects)  // Its end is still `due`.
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

    /// Ends what is open or under way.
    private mutating func giveUp(into effects: inout [Effect]) {
        switch phase {
        case .connecting(let attempt), .connected(let attempt, _): effects.append(.disconnect(generation: attempt.generation))
        case .handingOver(let old, _, let new):
            effects += [.disconnect(generation: new.generation), .disconnect(generation: old.generation)]
        case .idle, .waiting, .held, .stopped: break
        }
        wantsHandOver = false
    }

    /// Gives up what is open or under way; not a failure.
    private mutating func pause(_ attempt: Attempt, since: Moment? = nil, at now: Moment, into effects: inout [Effect]) {
        if let since, isStable(attempt, since: since, at: now) { forgive() }
        effects.append(.disconnect(generation: attempt.generation))
        due = now
        enter(.held, into: &effects)
    }
}
