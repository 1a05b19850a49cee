package import MachineCore

/// Controls the close handshake and the end of TCP (RFC 6455 §7).
///
/// In every case, at most one close frame is sent, ``Effect/finished(_:)`` is emitted exactly once, and ``Effect/endTransport`` exactly
/// once and last. After the first close, failure or close frame of the peer, the connection ends within `patience` + `linger`, whatever the
/// peer does.
package struct CloseHandshake: Machine, Hashable {
    /// The state of the close handshake.
    package enum Phase: Hashable, Sendable {
        /// Open. → `asked` on `close`, → `draining` on `fail`, → `agreed` on `peerClose`, → `closed` when the transport ends.
        case open
        /// Our close frame was sent. → `agreed` on `peerClose`, → `draining` on `fail`, → `closed` when the transport ends or at `until`.
        case asked(until: Moment)
        /// We failed the connection and no longer read. → `closed` when the transport ends or at `until`.
        case draining(until: Moment)
        /// Both close frames were exchanged. → `closed` when the transport ends or at `until`.
        case agreed(until: Moment)
        /// The connection is over.
        case closed
    }
    /// An event that affects the end of the connection.
    package enum Input: Hashable, Sendable {
        /// The app closes the connection. The code has passed ``CloseCode/maySend(as:)``.
        case close(CloseFrame)
        /// The peer violated the protocol: send this frame, then end (RFC 6455 §7.1.7).
        case fail(CloseFrame)
        /// The peer's close frame arrived.
        case peerClose(CloseFrame)
        /// The peer ended its side of TCP, or the transport broke.
        case transportEnded
    }
    /// An order to the owner, or a result.
    package enum Effect: Hashable, Sendable {
        /// Write this close frame; no data may follow it (RFC 6455 §5.5.1).
        case sendClose(CloseFrame)
        /// After everything written has been sent, end our side of TCP and discard further input.
        ///
        /// Closing both sides at once with unread input would reset TCP and could destroy our close frame.
        case endOutput
        /// Close TCP now, even if data is still unwritten. Harmless if it is already closed.
        case endTransport
        /// The outcome is final. TCP may stay open a little longer.
        case finished(CloseRecord)
    }

    /// The state of the handshake.
    package internal(set) var phase = Phase.open
    /// Whether a close frame was requested or received, or the connection has failed or ended.
    package var isClosing: Bool { phase != .open }
    /// The facts known so far: both close frames, and which one was first.
    package internal(set) var record = CloseRecord()
    let role: Role
    let patience, linger: Duration

    /// Creates the handshake of an open connection.
    ///
    /// - Parameters:
    ///   - role: The role of this side: the server ends TCP first (RFC 6455 §7.1.1).
    ///   - patience: How long the peer may take to answer our close frame, or to end TCP after we failed the connection.
    ///   - linger: How long the peer may take to end TCP after both close frames were exchanged.
    package init(role: Role, patience: Duration = .seconds(10), linger: Duration = .seconds(1)) {
        (self.role, self.patience, self.linger) = (role, patience, linger)
    }

    /// Applies one input and appends the resulting effects in order.
    package mutating func handle(_ input: Input, at now: Moment, into effects: inout [Effect]) {
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

    /// When the time limit of the peer ends; nil while open and once closed.
    package var deadline: Moment? {
        switch phase {
        case .asked(let until), .draining(let until), .agreed(let until): until
        case .open, .closed: nil
        }
    }

    /// Ends TCP if the time limit has passed.
    ///
    /// Early and repeated calls are harmless.
    package mutating func wake(at now: Moment, into effects: inout [Effect]) {
        guard let deadline, now >= deadline else { return }
        end(into: &effects)
    }

    mutating func send(_ frame: CloseFrame, into effects: inout [Effect]) {
        record.sent = frame
        record.closedFirst = record.closedFirst ?? .local
        effects.append(.sendClose(frame))
    }

    /// Both close frames were exchanged: the server ends its side, and the client waits for that (§7.1.1).
    mutating func agree(to frame: CloseFrame, at now: Moment, into effects: inout [Effect]) {
        record.received = frame
        record.isClean = true
        effects.append(.finished(record))
        if role == .server { effects.append(.endOutput) }
        phase = .agreed(until: now + linger)
    }

    /// Nothing more is read, so the outcome can no longer change (§7.1.7).
    mutating func drain(until: Moment, into effects: inout [Effect]) {
        effects.append(.finished(record))
        effects.append(.endOutput)
        phase = .draining(until: until)
    }

    mutating func end(into effects: inout [Effect]) {
        switch phase {
        case .open, .asked: effects.append(.finished(record))
        case .draining, .agreed, .closed: break  // The outcome was already reported.
        }
        effects.append(.endTransport)
        phase = .closed
    }
}
