import MachineCore

/// How the parts interact.
extension Session {
    mutating func reconnect(
        _ input: Reconnector.Input, _ reason: DisconnectReason = .asked, at now: Moment, into effects: inout [Effect]
    ) {
        reconnect(reason, at: now, into: &effects) { $0.handle(input, at: now, into: &$1) }
    }

    /// - Parameter reason: How to end a connection, if this ends one.
    mutating func reconnect(
        _ reason: DisconnectReason, at now: Moment, into effects: inout [Effect],
        _ body: (inout Reconnector, inout [Reconnector.Effect]) -> Void
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
            case .disconnect(let generation): effects.append(.disconnect(generation: generation, reason))
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
                effects.append(.abandon)  // First, so that a dropped connection is not closed as well.
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

    /// Releases one hold.
    ///
    /// Nothing is tried while another holder remains.
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

/// How sending depends on connections.
///
/// The queue sees one connection at a time. It learns of a loss only after the connection has answered for the message that it was handed.
/// Otherwise that message could be sent twice.
extension Session {
    /// The volume of the messages that wait to be sent.
    package var backlog: SendVolume { queue.depth }

    /// Handles inputs of the queue; returns whether the input was one.
    ///
    /// Answers count even after the end.
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
        // Another connection serves now and is not full, or none serves and the queue does not know that yet.
        feedQueue(serving == nil ? .lost : .room, at: now, into: &effects)
    }

    /// Notes that another connection serves from now on, or none.
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
                guard let serving else { continue }  // The queue learns at once that there is no connection.
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
    /// The connection that sends messages; during a hand-over, the old one.
    var serving: UInt64? {
        switch self {
        case .connected(let attempt, _), .handingOver(let attempt, _, _): attempt.generation
        case .idle, .connecting, .waiting, .held, .stopped: nil
        }
    }
}
