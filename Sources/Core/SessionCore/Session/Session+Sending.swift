import MachineCore

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
