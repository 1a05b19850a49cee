public import MachineCore

extension CloseHandshake {
    /// When the patience with the peer runs out; nil while open and once closed.
    public var deadline: Moment? {
        switch phase {
        case .asked(let until), .draining(let until), .agreed(let until): until
        case .open, .closed: nil
        }
    }

    /// Ends TCP if the peer has had its time; calling early or twice is harmless.
    public mutating func wake(at now: Moment, into effects: inout [Effect]) {
        guard let deadline, now >= deadline else { return }
        end(into: &effects)
    }

    mutating func send(_ frame: CloseFrame, into effects: inout [Effect]) {
        record.sent = frame
        record.closedFirst = record.closedFirst ?? .local
        effects.append(.sendClose(frame))
    }

    /// Both frames are exchanged: the server ends its side, the client waits for that (§7.1.1).
    mutating func agree(to frame: CloseFrame, at now: Moment, into effects: inout [Effect]) {
        record.received = frame
        record.isClean = true
        effects.append(.finished(record))
        if role == .server { effects.append(.endOutput) }
        phase = .agreed(until: now + linger)
    }

    /// Nothing more is read, so nothing more can change the outcome (§7.1.7).
    mutating func drain(until: Moment, into effects: inout [Effect]) {
        effects.append(.finished(record))
        effects.append(.endOutput)
        phase = .draining(until: until)
    }

    mutating func end(into effects: inout [Effect]) {
        switch phase {
        case .open, .asked: effects.append(.finished(record))
        case .draining, .agreed, .closed: break  // The outcome was told on the way here.
        }
        effects.append(.endTransport)
        phase = .closed
    }
}
