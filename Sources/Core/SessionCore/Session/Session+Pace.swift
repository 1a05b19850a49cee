import MachineCore

/// What the lives of the connections say of how long a silence may be.
extension Session {
    mutating func noteAnswered(_ generation: UInt64, at now: Moment, into effects: inout [Effect]) {
        guard generation == phase.serving else { return }
        // A probe waits for no silence, so its answer says nothing of how long one may be.
        if doubted.take() == generation { return }
        setPace(into: &effects) { $0.answered(at: now) }
    }

    mutating func noteSilence(_ generation: UInt64, _ loss: Loss) {
        guard generation == phase.serving else { return }
        let isSilent = loss.wasIdle || loss.cause == .unresponsive
        // What died of a lost network, or while the app was away, says nothing of the interval.
        pacer?.lost(wasIdle: isSilent && doubted != generation)
    }

    mutating func noteInterface(_ input: PathWatch.Input, into effects: inout [Effect]) {
        guard case .satisfied(let path) = input else { return }
        let isOther = interface.map { $0 != path.interface } ?? false
        interface = path.interface
        if isOther { setPace(into: &effects) { $0.moved() } }
    }

    /// Tells the pacer that another connection serves than `before`, or none.
    mutating func followPace(since before: UInt64?, at now: Moment, into effects: inout [Effect]) {
        let present = phase.serving
        guard pacer != nil, present != before else { return }
        pacer?.lost(wasIdle: false)  // If nobody said why.
        guard let present, let interval = pacer?.interval else { return }
        pacer?.opened(at: now)
        effects.append(.setPingInterval(generation: present, interval))
    }

    private mutating func setPace(into effects: inout [Effect], _ body: (inout HeartbeatPacer) -> Void) {
        guard var next = pacer else { return }
        body(&next)
        if let serving = phase.serving, next.interval != pacer?.interval {
            effects.append(.setPingInterval(generation: serving, next.interval))
        }
        pacer = next
    }
}
