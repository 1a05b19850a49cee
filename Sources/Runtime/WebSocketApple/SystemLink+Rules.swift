import MachineCore
import WebSocketCore
import WebSocketRuntime

extension SystemLink {
    func feedClosing(_ input: CloseHandshake.Input) {
        var effects: [CloseHandshake.Effect] = []
        closing.handle(input, at: now, into: &effects)
        perform(effects)
    }

    func feedHeartbeat(_ input: Heartbeat.Input) {
        var effects: [Heartbeat.Effect] = []
        heartbeat.handle(input, at: now, into: &effects)
        perform(effects)
    }

    /// The peer broke a rule: say which, and end (RFC 6455 §7.1.7).
    func fail(_ violation: ProtocolViolation) {
        isDiscarding = true
        let error = TransportError(violation)
        failure = failure ?? error
        ports.outbound.finish(error, discarding: true)
        feedClosing(.fail(CloseFrame(violation.closeCode, reason: violation.description)))
    }

    /// Ends at once, without a close handshake.
    func lose(_ error: TransportError) {
        failure = failure ?? error
        feedClosing(.transportEnded)
    }

    func ping(_ patience: Duration, _ pong: LinkOutcome<Result<Duration, TransportError>>) {
        guard !closing.isClosing else { return pong.settle(.failure(failure ?? .closing)) }
        lastPing += 1
        pings[lastPing] = pong
        feedHeartbeat(.pingRequested(id: lastPing, patience: patience))
    }

    /// Only the first call for a ping counts: a second one is no sign of life.
    func takePong(_ payload: [UInt8]) {
        guard let index = awaitedPongs.firstIndex(of: payload) else { return }
        awaitedPongs.removeSubrange(...index)
        feedHeartbeat(.pong(payload))
    }

    func perform(_ effects: [CloseHandshake.Effect]) {
        for effect in effects {
            switch effect {
            case .sendClose(let frame):
                // The system has answered a close frame of the peer by itself.
                if lastWord?.frame == nil { closeFrame = frame }
                ports.outbound.finish(failure ?? .closing, discarding: false)
            case .endOutput: break  // The system ends TCP after its close frame.
            case .endTransport: socket.abort()
            case .finished(let record): finish(record)
            }
        }
    }

    private func finish(_ record: CloseRecord) {
        var error = failure ?? TransportError(ending: record)
        error?.record = record
        if heartbeat.meetsSilence { error?.wasIdle = true }
        failure = error
        // First, so that whoever hears of the end finds the record.
        ports.ending.settle((record, error))
        ports.inbound.finish(error.map { .failure($0) } ?? .success(()))
        ports.outbound.finish(error ?? .closing, discarding: false)
        ports.outbound.finishMarks()
        feedHeartbeat(.ended)
        (observer, stalledUntil, lingersUntil) = (nil, nil, nil)
    }

    func perform(_ effects: [Heartbeat.Effect]) {
        for effect in effects {
            switch effect {
            case .sendPing(let payload): sendPing(payload)
            case .roundTrip(let id, let duration):
                observer?.roundTrip(duration, isAutomatic: id == nil)
                if let id { pings.removeValue(forKey: id)?.settle(.success(duration)) }
            case .expired(let id):
                let end = failure ?? .closing
                let error = closing.isClosing ? end : TransportError(.timedOut, "no pong came in time")
                pings.removeValue(forKey: id)?.settle(.failure(error))
            case .dead: lose(TransportError(.unresponsive, "the peer was silent for too long and answered no ping"))
            }
        }
    }

    private func sendPing(_ payload: [UInt8]) {
        guard let question = settings.pingMessage, heartbeat.isAutomatic(payload) else {
            if awaitedPongs.count > Heartbeat.capacity { awaitedPongs.removeFirst() }
            awaitedPongs.append(payload)
            // Before it is asked for: a pong may be quick.
            feedHeartbeat(.written(payload))
            return socket.ping { [post] failure in
                // A ping that failed is one without a pong; whether the link is gone is told by what is read.
                if failure == nil { post.yield(.pong(payload)) }
            }
        }
        guard (try? ports.outbound.offer(question.make())) == true else { return feedHeartbeat(.postponed) }
        questions.ask(at: now, patience: settings.pingTimeout)
        feedHeartbeat(.written(payload))
    }
}
