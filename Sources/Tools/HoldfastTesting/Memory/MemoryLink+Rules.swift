import Holdfast
import WebSocketRuntime

extension MemoryLink {
    func feedClosing(_ role: Role, _ input: CloseHandshake.Input) {
        var effects: [CloseHandshake.Effect] = []
        self[role].closing.handle(input, at: now, into: &effects)
        perform(effects, of: role)
    }

    func wakeClosing(_ role: Role, at now: Moment) {
        var effects: [CloseHandshake.Effect] = []
        self[role].closing.wake(at: now, into: &effects)
        perform(effects, of: role)
    }

    func feedHeartbeat(_ role: Role, _ input: Heartbeat.Input) {
        var effects: [Heartbeat.Effect] = []
        self[role].heartbeat.handle(input, at: now, into: &effects)
        perform(effects, of: role)
    }

    func wakeHeartbeat(_ role: Role, at now: Moment) {
        var effects: [Heartbeat.Effect] = []
        self[role].heartbeat.wake(at: now, into: &effects)
        perform(effects, of: role)
    }

    /// The peer broke a rule: say which, and end (RFC 6455 §7.1.7).
    func fail(_ role: Role, _ violation: ProtocolViolation) {
        self[role].isDiscarding = true
        let error = TransportError(violation)
        self[role].failure = self[role].failure ?? error
        self[role].ports.outbound.finish(error, discarding: true)
        feedClosing(role, .fail(CloseFrame(violation.closeCode, reason: violation.description)))
    }

    /// Ends at once, without a close handshake.
    func lose(_ role: Role, _ error: TransportError) {
        self[role].failure = self[role].failure ?? error
        feedClosing(role, .transportEnded)
    }

    func ping(_ role: Role, _ patience: Duration, _ pong: LinkOutcome<Result<Duration, TransportError>>) {
        guard !self[role].closing.isClosing else { return pong.settle(.failure(self[role].failure ?? .closing)) }
        self[role].lastPing += 1
        let id = self[role].lastPing
        self[role].pings[id] = pong
        feedHeartbeat(role, .pingRequested(id: id, patience: patience))
    }

    private func perform(_ effects: [CloseHandshake.Effect], of role: Role) {
        for effect in effects {
            switch effect {
            case .sendClose(let frame):
                self[role].closeFrame = frame
                self[role].ports.outbound.finish(self[role].failure ?? .closing, discarding: false)
            case .endOutput: self[role].endsOutput = true
            case .endTransport: break  // The machine's phase says it.
            case .finished(let record): finish(role, record)
            }
        }
    }

    private func finish(_ role: Role, _ record: CloseRecord) {
        var error = self[role].failure ?? TransportError(ending: record)
        error?.record = record
        if self[role].heartbeat.meetsSilence { error?.wasIdle = true }
        self[role].failure = error
        let ports = self[role].ports
        // First, so that whoever hears of the end finds the record.
        ports.ending.settle((record, error))
        ports.inbound.finish(error.map { .failure($0) } ?? .success(()))
        ports.outbound.finish(error ?? .closing, discarding: false)
        ports.outbound.finishMarks()
        feedHeartbeat(role, .ended)
        self[role].observer = nil
    }

    private func perform(_ effects: [Heartbeat.Effect], of role: Role) {
        for effect in effects {
            switch effect {
            case .sendPing(let payload): send(payload, of: role)
            case .roundTrip(let id, let duration):
                self[role].observer?.roundTrip(duration, isAutomatic: id == nil)
                if let id { self[role].pings.removeValue(forKey: id)?.settle(.success(duration)) }
            case .expired(let id):
                let end = self[role].failure ?? .closing
                let error = self[role].closing.isClosing ? end : TransportError(.timedOut, "no pong came in time")
                self[role].pings.removeValue(forKey: id)?.settle(.failure(error))
            case .dead: lose(role, TransportError(.unresponsive, "the peer was silent for too long and answered no ping"))
            }
        }
    }

    private func send(_ ping: [UInt8], of role: Role) {
        guard let question = self[role].question, self[role].heartbeat.isAutomatic(ping) else {
            self[role].enqueue(.ping(ping))
            return feedHeartbeat(role, .written(ping))
        }
        guard (try? self[role].ports.outbound.offer(question.make())) == true else { return feedHeartbeat(role, .postponed) }
        self[role].questions.ask(at: now, patience: self[role].patience)
        feedHeartbeat(role, .written(ping))
    }
}
