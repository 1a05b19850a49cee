import MachineCore

/// What the parts ask of each other.
extension Session {
    mutating func reconnect(
        _ input: Reconnector.Input, _ farewell: Farewell = .asked, at now: Moment, into effects: inout [Effect]
    ) {
        reconnect(farewell, at: now, into: &effects) { $0.handle(input, at: now, into: &$1) }
    }

    /// - Parameter farewell: How to part with a connection, should this be its end.
    mutating func reconnect(
        _ farewell: Farewell, at now: Moment, into effects: inout [Effect], _ body: (inout Reconnector, inout [Reconnector.Effect]) -> Void
    ) {
        var orders: [Reconnector.Effect] = []
        body(&reconnector, &orders)
        for order in orders {
            switch order {
            case .connect(let attempt) where keeper != nil:
                pending = attempt
                keep(.needed, at: now, into: &effects)
            case .connect(let attempt): effects.append(.connect(attempt))
            case .disconnect(pending?.generation): pending = nil
            case .disconnect(let generation): effects.append(.disconnect(generation: generation, farewell))
            case .retire(let generation): effects.append(.retire(generation: generation))
            case .report(let phase): report(phase, at: now, into: &effects)
            }
        }
    }

    private mutating func report(_ phase: Reconnector.Phase, at now: Moment, into effects: inout [Effect]) {
        let wasConnected = isConnected
        switch phase {
        case .connected, .handingOver: isConnected = true
        case .idle, .connecting, .waiting, .held: isConnected = false
        case .stopped:
            keep(.ended, at: now, into: &effects)
            feedQueue(.close, at: now, into: &effects)
        }
        effects.append(.report(phase))
        serve(phase.serving, at: now, into: &effects)
        if isConnected != wasConnected { keep(isConnected ? .connected : .disconnected, at: now, into: &effects) }
    }

    mutating func keep(_ input: CredentialKeeper.Input, at now: Moment, into effects: inout [Effect]) {
        keep(at: now, into: &effects) { $0.handle(input, at: now, into: &$1) }
    }

    mutating func keep(
        at now: Moment, into effects: inout [Effect], _ body: (inout CredentialKeeper, inout [CredentialKeeper.Effect]) -> Void
    ) {
        guard keeper != nil else { return }
        var orders: [CredentialKeeper.Effect] = []
        body(&keeper!, &orders)
        for order in orders {
            switch order {
            case .fetch(let number): effects.append(.fetchCredential(number))
            case .cancelFetch: effects.append(.cancelFetch(isLate: !isOver))
            case .ready:
                if let attempt = pending.take() { effects.append(.connect(attempt)) }
            case .unavailable(let isRetryable):
                guard let attempt = pending.take() else { continue }
                let loss = Loss(.credentials(isRetryable: isRetryable))
                reconnect(.lost(generation: attempt.generation, loss), at: now, into: &effects)
            case .handOver: reconnect(.handOver, at: now, into: &effects)
            }
        }
    }

    mutating func feedLife(at now: Moment, into effects: inout [Effect], _ body: (inout AppLife, inout [AppLife.Effect]) -> Void) {
        var orders: [AppLife.Effect] = []
        body(&life, &orders)
        for order in orders {
            switch order {
            case .hold: hold(.life, keepingOpen: false, at: now, into: &effects)
            case .abandon:
                effects.append(.abandon)  // First: what is dropped already is not closed.
                hold(.life, keepingOpen: false, at: now, into: &effects)
            case .release: release(.life, at: now, into: &effects)
            case .probe: probe(into: &effects)
            }
        }
    }

    mutating func feedPath(_ input: PathWatch.Input, at now: Moment, into effects: inout [Effect]) {
        var orders: [PathWatch.Effect] = []
        path.handle(input, at: now, into: &orders)
        for order in orders {
            switch order {
            case .hold: hold(.path, keepingOpen: true, at: now, into: &effects)
            case .release: release(.path, at: now, into: &effects)
            case .probe: probe(into: &effects)
            case .handOver: reconnect(.handOver, at: now, into: &effects)
            }
        }
    }

    private mutating func hold(_ holder: Holder, keepingOpen: Bool, at now: Moment, into effects: inout [Effect]) {
        holders.insert(holder)
        reconnect(.hold(keepingOpen: keepingOpen), .goingAway, at: now, into: &effects)
    }

    /// Nothing is tried while anybody else holds.
    private mutating func release(_ holder: Holder, at now: Moment, into effects: inout [Effect]) {
        let wasHeld = holders.remove(holder) != nil
        guard holders.isEmpty else { return }
        reconnect(wasHeld ? .release(fresh: true) : .networkReturned, at: now, into: &effects)
    }

    mutating func probe(into effects: inout [Effect]) {
        guard let serving = phase.serving else { return }
        doubted = serving
        effects.append(.probe(generation: serving))
    }
}

/// What sending has to do with connections.
///
/// The queue hears of one connection at a time, and of a loss only once it is known what became of the message that the connection was
/// handed: or it would go twice.
extension Session {
    /// How much waits to be sent.
    public var backlog: SendVolume { queue.depth }

    /// Whether the input was one for the queue: answers count even after the end.
    mutating func handleSending(_ input: Input, at now: Moment, into effects: inout [Effect]) -> Bool {
        switch input {
        case .submit(let id, let lane, let byteCount, let patience):
            feedQueue(.submit(id: id, lane: lane, byteCount: byteCount, patience: patience), at: now, into: &effects)
        case .withdraw(let id): feedQueue(.withdraw(id), at: now, into: &effects)
        case .taken(let id): answer(.taken(id), of: id, at: now, into: &effects)
        case .blocked(let id): answer(.blocked(id), of: id, at: now, into: &effects)
        case .room: feedQueue(.room, at: now, into: &effects)
        case .finishSending: feedQueue(.close, at: now, into: &effects)
        case .start, .disconnect, .reconnectNow, .opened, .answered, .lost, .awaitReadiness, .ready, .rejected, .credentialProvided,
            .credentialFailed, .life, .path, .close:
            return false
        }
        return true
    }

    private mutating func answer(_ input: SendQueue.Input, of id: UInt64, at now: Moment, into effects: inout [Effect]) {
        guard id == queue.handedOver else { return }
        let isPast = handedTo != serving
        handedTo = nil
        feedQueue(input, at: now, into: &effects)
        guard isPast else { return }
        // Another connection serves now, and is not full; or none does, which the queue has yet to hear.
        feedQueue(serving == nil ? .lost : .room, at: now, into: &effects)
    }

    /// Another connection serves from now on, or none.
    mutating func serve(_ generation: UInt64?, at now: Moment, into effects: inout [Effect]) {
        guard generation != serving else { return }
        let wasServing = serving != nil
        serving = generation
        if generation == nil {
            if queue.handedOver == nil { feedQueue(.lost, at: now, into: &effects) }  // Otherwise with the answer.
        } else {
            feedQueue(wasServing ? .room : .opened, at: now, into: &effects)
        }
    }

    mutating func feedQueue(_ input: SendQueue.Input, at now: Moment, into effects: inout [Effect]) {
        feedQueue(at: now, into: &effects) { $0.handle(input, at: now, into: &$1) }
    }

    mutating func feedQueue(at now: Moment, into effects: inout [Effect], _ body: (inout SendQueue, inout [SendQueue.Effect]) -> Void) {
        let before = queue.depth
        var orders: [SendQueue.Effect] = []
        body(&queue, &orders)
        for order in orders {
            switch order {
            case .transmit(let id):
                guard let serving else { continue }  // The queue hears at once that there is none.
                handedTo = serving
                effects.append(.transmit(id, generation: serving))
            case .recall(let id): effects.append(.recall(id))
            case .refused(let id, let reason): effects.append(.refused(id, reason))
            }
        }
        if queue.depth != before { effects.append(.backlog(queue.depth)) }
    }
}

extension Reconnector.Phase {
    /// The connection that messages go to: while one takes over, the old one.
    var serving: UInt64? {
        switch self {
        case .connected(let attempt, _), .handingOver(let attempt, _, _): attempt.generation
        case .idle, .connecting, .waiting, .held, .stopped: nil
        }
    }
}
