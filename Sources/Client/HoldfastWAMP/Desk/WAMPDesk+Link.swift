import CodecCore
import Holdfast
import MachineCore
import WebSocketRuntime
import WAMPCore
import WebSocketCore

/// The socket's side of the desk.
extension WAMPDesk {
    /// Takes what happens to the socket, until it ends.
    func follow(_ events: WebSocketEvents) async {
        var line: WAMPLine?
        for await event in events {
            switch event {
            case .opened(let opening): line = open(opening)
            case .message(let message):
                guard let line else { continue }
                receive(message, line)
                // A router that asks for more than it takes is read no further.
                if line.count >= WAMPLine.throng { await line.room(below: WAMPLine.throng) }
            case .state(.connected): break
            case .state(.waiting(_, let cause?)): change { state, now in lose(&state, now, for: cause) }
            case .state: change { state, now in lose(&state, now) }
            case .reconnecting(_, _, let cause):
                change { state, now in
                    lose(&state, now, for: cause)
                    (state.isDropped, state.isWaiting) = (false, true)
                    state.deeds.append(.announce(changes))
                }
            case .closed(let closure): finish(closure.error.map { WAMPError($0, hiding: secrets) })
            case .dropped, .undecodable, .missed: break
            }
        }
        finish(nil)
    }

    private func open(_ opening: Opening) -> WAMPLine? {
        let connection = opening.connection
        guard let serialization = opening.subprotocol.flatMap({ WAMPSerialization(subprotocol: $0) }) else {
            end(WAMPError(.unsupported, detail: "the server agreed on no subprotocol of WAMP"))
            return nil
        }
        let identification = WAMPIdentification(authentication)
        let line = WAMPLine(connection, serialization, trace) { [weak self] in self?.part($0, $1) }
        change { state, now in
            lose(&state, now)
            (state.line, state.identification, state.isWaiting) = (line, identification, false)
            (state.cause, state.isDropped) = (nil, false)
            state.deeds.append(.announce(changes))
            Self.tell(.opened(authExtra: identification.extra), &state, now)
        }
        return line
    }

    /// There is no connection any more, or another one.
    func lose(_ state: inout State, _ now: Moment, for cause: WebSocketError? = nil) {
        // Why the machine has ended the session says more than that its connection was closed for that.
        if let cause, !state.isDropped { state.cause = WAMPError(cause, hiding: secrets) }
        guard let line = state.line else { return }
        let unsent = line.end()
        (state.line, state.session, state.identification, state.isWaiting) = (nil, nil, nil, true)
        state.deeds += state.proofs.values.map { .cancel($0) }
        state.proofs = [:]
        for (handle, running) in state.running where running.isAwaited {
            state.running[handle]?.isAwaited = false
            running.registration.rest()
            state.deeds.append(.announce(running.registration.changes))
        }
        state.deeds.append(.announce(changes))
        Self.tell(.lost(unsent: unsent), &state, now)
    }

    private func receive(_ message: Message, _ line: WAMPLine) {
        let input: ClientInput
        do throws(WAMPFormatError) {
            guard (message.kind == .text) == line.serialization.isText else { throw WAMPFormatError(.messageKind) }
            let limits = options.limits
            let decoded = message.withBytes { bytes in
                Result { () throws(WAMPFormatError) in try WAMPMessage(decoding: bytes.bytes, as: line.serialization, limits: limits) }
            }
            let received = try decoded.get()
            trace.received(received)
            input = .received(received)
        } catch {
            trace.received(error)
            input = .undecodable(error)
        }
        change { state, now in
            if state.line === line { Self.tell(input, &state, now) }
        }
    }

    // MARK: - Parting

    /// The machine ends the connection.
    func drop(_ ending: ClientEnding, _ state: inout State) {
        let parting: WAMPParting
        switch ending {
        case .left:
            state.ending = state.ending ?? WAMPError(.closed)
            parting = .stop
        case .dismissed(let reason, let message, let isRetryable):
            let error = WAMPError(.dismissed, uri: reason, detail: message.map(secrets.hiding), isRetryable: isRetryable)
            parting = isRetryable ? .reconnect(.normal, reason: "the session has ended") : stop(error, &state)
            state.cause = error
        case .violation(let text):
            state.cause = WAMPError(.dismissed, uri: WAMPURI.Error.protocolViolation, detail: text, isRetryable: true)
            parting = .reconnect(.protocolError, reason: "the router broke the protocol")
        case .unproven(let text):
            // Where there can be no proof, another connection changes nothing.
            state.cause = state.ending ?? WAMPError.unproven(text, isRetryable: true)
            parting = state.ending == nil ? .reconnect(.normal, reason: "there is no proof") : .stop
        case .imposter: parting = stop(WAMPError(.imposter), &state)
        case .joinTimedOut:
            state.cause = WAMPError(.timedOut, request: "HELLO", wasSent: true, isRetryable: true)
            parting = .reconnect(.normal, reason: "joining took too long")
        }
        if let cause = state.cause {
            state.isDropped = true
            state.deeds.append(.log(cause))
        }
        (state.session, state.isWaiting) = (nil, true)
        state.deeds.append(.announce(changes))
        if let line = state.line {
            line.put(.part(parting))
            state.hasOutput = true
        } else if parting == .stop {
            state.deeds.append(.part(.stop))
        }
    }

    private func stop(_ error: WAMPError, _ state: inout State) -> WAMPParting {
        state.ending = state.ending ?? error
        return .stop
    }

    /// Ends for good.
    func end(_ error: WAMPError) {
        change { state, _ in
            state.ending = state.ending ?? error
            state.deeds.append(.part(.stop))
            state.deeds.append(.announce(changes))
        }
    }

    func part(_ parting: WAMPParting, _ connection: WebSocketConnection?) {
        guard let socket = socket.withLockedValue({ $0.socket }) else { return finish(nil) }
        switch parting {
        case .reconnect(let code, let reason):
            guard let connection else { return }
            // SAFETY: ends with the close handshake, which has a deadline, or with the connection.
            Task { await socket.reconnect(connection, after: .zero, code: code, reason: reason) }
        case .stop:
            // SAFETY: ends with the close handshake, which has a deadline, or with the connection.
            Task { await socket.close() }
        }
    }

    /// The app leaves; the router is told, if there is one.
    func leave() {
        change { state, now in
            guard !state.isOver, !state.isLeaving else { return }
            state.isLeaving = true
            let isLinked = state.line != nil
            Self.tell(.leave(reason: WAMPURI.Close.closeRealm), &state, now)
            state.ending = state.ending ?? WAMPError(.closed)
            if !isLinked { state.deeds.append(.part(.stop)) }
        }
    }
}
