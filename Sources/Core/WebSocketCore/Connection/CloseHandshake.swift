public import MachineCore

/// Decides who closes what, and when (RFC 6455 §7).
///
/// However the connection goes, at most one close frame is sent, ``Effect/finished(_:)`` comes exactly once,
/// and ``Effect/endTransport`` comes exactly once and last. From the first close, failure or peer's close,
/// all is over within `patience` + `linger`, whatever the peer does.
public struct CloseHandshake: Machine, Hashable {
    /// How far the connection is on its way to the end.
    public enum Phase: Hashable, Sendable {
        /// → `asked` on `close`, → `draining` on `fail`, → `agreed` on `peerClose`, → `closed` when the transport ends.
        case open
        /// Our close frame is out. → `agreed` on `peerClose`, → `draining` on `fail`, → `closed` when the transport ends or at `until`.
        case asked(until: Moment)
        /// We failed the connection and read no more. → `closed` when the transport ends or at `until`.
        case draining(until: Moment)
        /// Both close frames are exchanged. → `closed` when the transport ends or at `until`.
        case agreed(until: Moment)
        /// Over for good.
        case closed
    }
    /// What can happen to a connection that matters to its end.
    public enum Input: Hashable, Sendable {
        /// The app asks to close. The frame's code has passed ``CloseCode/maySend(as:)``.
        case close(CloseFrame)
        /// The peer broke the protocol: say why, then end (RFC 6455 §7.1.7).
        case fail(CloseFrame)
        /// The peer's close frame arrived.
        case peerClose(CloseFrame)
        /// The peer ended its side of TCP, or the transport broke.
        case transportEnded
    }
    /// What to do, and what became known.
    public enum Effect: Hashable, Sendable {
        /// Write this close frame; no data may follow it (RFC 6455 §5.5.1).
        case sendClose(CloseFrame)
        /// Once everything written has left, end our side of TCP and discard what still arrives.
        ///
        /// Closing both sides at once with unread input would reset TCP and could destroy our close frame on its way.
        case endOutput
        /// Close TCP now, whatever is still unwritten. Harmless if it is closed already.
        case endTransport
        /// The outcome is settled; TCP may still linger a moment.
        case finished(CloseRecord)
    }

    /// Where the handshake is.
    public internal(set) var phase = Phase.open
    /// Whether a close frame has been asked for, received, or made needless.
    public var isClosing: Bool { phase != .open }
    /// What is known so far: both close frames, and whose was first.
    public internal(set) var record = CloseRecord()
    let role: Role
    let patience, linger: Duration

    /// The handshake of an open connection.
    ///
    /// - Parameters:
    ///   - role: Which end this is: the server ends TCP first (RFC 6455 §7.1.1).
    ///   - patience: How long the peer may take to answer our close frame, or to end TCP after we failed the connection.
    ///   - linger: How long the peer may take to end TCP once both close frames are exchanged.
    public init(role: Role, patience: Duration = .seconds(10), linger: Duration = .seconds(1)) {
        (self.role, self.patience, self.linger) = (role, patience, linger)
    }

    /// Applies one input and appends what must be done about it, in order.
    public mutating func handle(_ input: Input, at now: Moment, into effects: inout [Effect]) {
        switch (phase, input) {
        case (.open, .close(let frame)):
            send(frame, into: &effects)
            phase = .asked(until: now + patience)
        case (.open, .fail(let frame)):
            send(frame, into: &effects)
            drain(until: now + patience, into: &effects)
        case (.asked(let until), .fail):
            drain(until: until, into: &effects)
        case (.open, .peerClose(let frame)):
            record.closedFirst = .remote
            // §5.5.1: the answer echoes the code, if this side may send it (§7.4).
            send(CloseFrame(frame.code.map { $0.maySend(as: role) ? $0 : .normal }), into: &effects)
            agree(to: frame, at: now, into: &effects)
        case (.asked, .peerClose(let frame)):
            agree(to: frame, at: now, into: &effects)
        case (.open, .transportEnded), (.asked, .transportEnded), (.draining, .transportEnded), (.agreed, .transportEnded):
            end(into: &effects)
        case (.asked, .close), (.draining, _), (.agreed, _), (.closed, _): break
        }
    }

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
