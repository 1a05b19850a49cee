import CodecCore
import Holdfast
import MachineCore
import ProtocolClient
import ProtocolCore
import WebSocketRuntime
import WAMPCore
import WebSocketCore

/// The socket's side of the desk.
extension WAMPDesk {
    /// Takes what happens to the socket, until it ends.
    func follow(_ events: WebSocketEvents) async {
        var link: WAMPLink?
        for await event in events {
            switch event {
            case .opened(let opening): link = open(opening)
            case .message(let message):
                guard let link else { continue }
                receive(message, link)
                // A router that asks for more than it takes is read no further.
                if link.queue.count >= OutgoingLimits.reader { await link.queue.room(below: OutgoingLimits.reader) }
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

    private func open(_ opening: Opening) -> WAMPLink? {
        let connection = opening.connection
        guard let serialization = opening.subprotocol.flatMap({ WAMPSerialization(subprotocol: $0) }) else {
            end(WAMPError(.unsupported, detail: "the server agreed on no subprotocol of WAMP"))
            return nil
        }
        let identification = WAMPIdentification(authentication)
        let link = WAMPLink(connection, serialization, trace) { [weak self] in self?.part($0, $1) }
        change { state, now in
            lose(&state, now)
            (state.link, state.identification, state.isWaiting) = (link, identification, false)
            (state.cause, state.isDropped) = (nil, false)
            state.deeds.append(.announce(changes))
            Self.tell(.opened(authExtra: identification.extra), &state, now)
        }
        return link
    }

    /// There is no connection any more, or another one.
    func lose(_ state: inout State, _ now: Moment, for cause: WebSocketError? = nil) {
        // Why the machine has ended the session says more than that its connection was closed for that.
        if let cause, !state.isDropped { state.cause = WAMPError(cause, hiding: secrets) }
        guard let link = state.link else { return }
        let unsent = Set(link.queue.close().compactMap(\.ownRequest))
        (state.link, state.session, state.identification, state.isWaiting) = (nil, nil, nil, true)
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

    private func receive(_ message: Message, _ link: WAMPLink) {
        let input: ClientInput
        do throws(WAMPFormatError) {
            guard (message.kind == .text) == link.serialization.isText else { throw WAMPFormatError(.messageKind) }
            let limits = options.limits
            let decoded = message.withBytes { bytes in
                Result { () throws(WAMPFormatError) in try WAMPMessage(decoding: bytes.bytes, as: link.serialization, limits: limits) }
            }
            let received = try decoded.get()
            trace.received(received)
            input = .received(received)
        } catch {
            trace.received(error)
            input = .undecodable(error)
        }
        change { state, now in
            if state.link?.queue === link.queue { Self.tell(input, &state, now) }
        }
    }

    // MARK: - Parting

    /// The machine ends the connection.
    func drop(_ ending: ClientEnding, _ state: inout State) {
        let end: ConnectionEnd
        switch ending {
        case .left:
            state.ending = state.ending ?? WAMPError(.closed)
            end = .stop
        case .dismissed(let reason, let message, let isRetryable):
            let error = WAMPError(.dismissed, uri: reason, detail: message.map(secrets.hiding), isRetryable: isRetryable)
            end = isRetryable ? .reconnect(after: .zero, .normal, reason: "the session has ended") : stop(error, &state)
            state.cause = error
        case .violation(let text):
            state.cause = WAMPError(.dismissed, uri: WAMPURI.Error.protocolViolation, detail: text, isRetryable: true)
            end = .reconnect(after: .zero, .protocolError, reason: "the router broke the protocol")
        case .unproven(let text):
            // Where there can be no proof, another connection changes nothing.
            state.cause = state.ending ?? WAMPError.unproven(text, isRetryable: true)
            end = state.ending == nil ? .reconnect(after: .zero, .normal, reason: "there is no proof") : .stop
        case .imposter: end = stop(WAMPError(.imposter), &state)
        case .joinTimedOut:
            state.cause = WAMPError(.timedOut, request: "HELLO", wasSent: true, isRetryable: true)
            end = .reconnect(after: .zero, .normal, reason: "joining took too long")
        }
        if let cause = state.cause {
            state.isDropped = true
            state.deeds.append(.log(cause))
        }
        (state.session, state.isWaiting) = (nil, true)
        state.deeds.append(.announce(changes))
        if let link = state.link {
            link.queue.put(.end(end))
            state.hasOutput = true
        } else if end == .stop {
            state.deeds.append(.part(.stop))
        }
    }

    private func stop(_ error: WAMPError, _ state: inout State) -> ConnectionEnd {
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

    func part(_ end: ConnectionEnd, _ connection: WebSocketConnection?) {
        if socket.socket == nil { return finish(nil) }
        socket.end(end, connection)
    }

    /// The app leaves; the router is told, if there is one.
    func leave() {
        change { state, now in
            guard !state.isOver, !state.isLeaving else { return }
            state.isLeaving = true
            let isLinked = state.link != nil
            Self.tell(.leave(reason: WAMPURI.Close.closeRealm), &state, now)
            state.ending = state.ending ?? WAMPError(.closed)
            if !isLinked { state.deeds.append(.part(.stop)) }
        }
    }
}

extension WAMPMessage {
    /// The number of a call or a publication.
    fileprivate var ownRequest: WAMPID? {
        switch self {
        case .call(let request, _, _, _), .publish(let request, _, _, _): request
        default: nil
        }
    }
}
