import DequeModule
import Holdfast
import WebSocketRuntime

/// Carries frames between the two ends of a connection in memory, one input at a time: the shell around their machines.
final class MemoryLink {
    /// What can happen, asked for by any task.
    enum Input: Sendable {
        /// There is something to carry.
        case work
        /// The app at this end has taken enough to go on.
        case room(Role)
        case close(Role, CloseFrame)
        case abort(Role)
        case ping(Role, Duration, LinkOutcome<Result<Duration, TransportError>>)
        case probe(Role)
        case setPingInterval(Role, Duration?)
        case observe(Role, (any LinkObserver)?)
        case stall, resume, cut
        /// The alarm that was set for this moment rang.
        case alarm(Moment)
        /// The transport of this end is gone: nobody will ask for anything.
        case release(Role)
    }
    /// What is left to do.
    enum Phase {
        case running, released
    }

    var client, server: MemoryEnd
    private var isStalled = false
    private let time: LinkTime
    private let post: AsyncStream<Input>.Continuation
    private var alarm: (at: Moment, task: Task<Void, Never>)?

    init(
        _ client: MemoryEnd, _ server: MemoryEnd, _ time: LinkTime, _ post: AsyncStream<Input>.Continuation
    ) {
        (self.client, self.server) = (client, server)
        (self.time, self.post) = (time, post)
        setAlarm()
    }

    deinit { alarm?.task.cancel() }

    var now: Moment { time.now() }

    func handle(_ input: Input) -> Phase {
        switch input {
        case .work: break
        case .room(let role):
            self[role].isPaused = false
            feedHeartbeat(role, .resumed)
        case .close(let role, let frame): feedClosing(role, .close(frame))
        case .abort(let role): lose(role, .dropped)
        case .ping(let role, let patience, let pong): ping(role, patience, pong)
        case .probe(let role): feedHeartbeat(role, .probe)
        case .setPingInterval(let role, let interval): feedHeartbeat(role, .setInterval(interval))
        case .observe(let role, let observer): self[role].observer = self[role].isOver ? nil : observer
        case .stall: isStalled = true
        case .resume: isStalled = false
        // The client last: when it connects again, its server's end is over.
        case .cut: for role in [Role.server, .client] { feedClosing(role, .transportEnded) }
        case .alarm(let moment):
            if alarm?.at == moment { alarm = nil }  // Otherwise an earlier alarm has taken its place.
            wake()
        case .release(let role):
            self[role].isReleased = true
            lose(role, .dropped)
        }
        carry()
        setAlarm()
        return client.isReleased && server.isReleased ? .released : .running
    }

    subscript(_ role: Role) -> MemoryEnd {
        get { role == .client ? client : server }
        _modify { if role == .client { yield &client } else { yield &server } }
    }

    /// Moves whatever can move, until nothing does.
    private func carry() {
        var hasMoved = true
        while hasMoved, !isStalled {
            hasMoved = carry(from: .client)
            if carry(from: .server) { hasMoved = true }
        }
        for role in [Role.client, .server] { measureStall(of: role) }
    }

    private func wake() {
        let now = now
        for role in [Role.client, .server] {
            if let until = self[role].stalledUntil, now >= until {
                lose(role, TransportError(.stalled, "the peer took nothing of what we send, for too long"))
            }
            wakeHeartbeat(role, at: now)
            wakeClosing(role, at: now)
        }
    }

    private func setAlarm() {
        let next = Moment.earliest(client.deadline, server.deadline) ?? .distantFuture
        // An alarm that rings early is harmless, so a deadline that moves later costs nothing.
        guard next < alarm?.at ?? .distantFuture else { return }
        alarm?.task.cancel()
        // SAFETY: owned by the link, and cancelled with it or by another alarm.
        let task = Task { [time, post] in
            if (try? await time.sleep(next)) != nil { post.yield(.alarm(next)) }
        }
        alarm = (next, task)
    }

    private static let batchSize = 16 * 1024

    /// Moves what waits at one end to the other; false if nothing could move.
    func carry(from role: Role) -> Bool {
        let peer = role.peer
        if self[role].isOver { return hangUp(peer) }
        guard self[peer].reads else { return false }
        if let control = self[role].controls.popFirst() {
            deliver(control, to: peer)
            return true
        }
        let entries = self[role].ports.outbound.take(upTo: Self.batchSize)
        guard entries.isEmpty else {
            if self[role].stalledUntil.take() != nil { feedHeartbeat(role, .activity) }
            let frames = entries.filter { !$0.isMark }
            for frame in frames { self[role].traffic.countSent(frame) }
            self[role].ports.meter.tell(self[role].traffic)
            deliver(frames, to: peer)
            for case .mark(let mark) in entries { self[role].ports.outbound.wrote(mark) }
            return true
        }
        if let frame = self[role].closeFrame.take() {
            deliverClose(frame, to: peer)
            return true
        }
        return self[role].endsOutput && hangUp(peer)
    }

    /// From when on the peer is measured: something waits for it, and does not move.
    func measureStall(of role: Role) {
        guard !self[role].isOver, self[role].ports.outbound.awaitWork() else { return self[role].stalledUntil = nil }
        if self[role].stalledUntil == nil { self[role].stalledUntil = now + self[role].stall }
    }

    private func hangUp(_ role: Role) -> Bool {
        guard !self[role].isOver else { return false }
        feedClosing(role, .transportEnded)
        return true
    }

    private func deliver(_ control: MemoryEnd.Control, to role: Role) {
        feedHeartbeat(role, .activity)
        guard !self[role].isDiscarding else { return }
        switch control {
        // RFC 6455 §5.5.2: unless a close frame was received.
        case .ping(let payload): self[role].enqueue(.pong(payload))
        case .pong(let payload): feedHeartbeat(role, .pong(payload))
        }
    }

    private func deliver(_ entries: some Collection<OutboundQueue.Entry>, to role: Role) {
        guard !entries.isEmpty else { return }
        feedHeartbeat(role, .activity)
        var batch = ReceivedBatch()
        do throws(ProtocolViolation) {
            for entry in entries where !self[role].isDiscarding {
                self[role].traffic.countReceived(entry)
                if let received = try self[role].assembly.receive(entry) { batch.append(received) }
            }
            hand(&batch, to: role)
        } catch {
            hand(&batch, to: role)
            fail(role, error)
        }
    }

    private func hand(_ batch: inout ReceivedBatch, to role: Role) {
        self[role].ports.meter.tell(self[role].traffic)
        if let question = self[role].question, !self[role].questions.isEmpty,
            question.takeAnswers(from: &batch, to: &self[role].questions)
        {
            feedHeartbeat(role, .answered)
        }
        // An end that closes reads on, and keeps nothing that its app has no room for.
        guard !batch.isEmpty, !self[role].isPaused, !self[role].ports.inbound.append(&batch) else { return }
        self[role].isPaused = true
        feedHeartbeat(role, .paused)
    }

    private func deliverClose(_ frame: CloseFrame, to role: Role) {
        feedHeartbeat(role, .activity)
        guard !self[role].isDiscarding else { return }
        self[role].isDiscarding = true
        feedClosing(role, .peerClose(frame))
    }

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

extension TransportError {
    fileprivate static let dropped = TransportError(.lost, "the connection was dropped by this side")
}

extension LinkTraffic {
    fileprivate mutating func countSent(_ entry: OutboundQueue.Entry) {
        self += LinkTraffic(bytesOut: entry.byteCount, messagesOut: entry.isLast ? 1 : 0, payloadOut: entry.byteCount)
    }

    fileprivate mutating func countReceived(_ entry: OutboundQueue.Entry) {
        self += LinkTraffic(bytesIn: entry.byteCount, messagesIn: entry.isLast ? 1 : 0, payloadIn: entry.byteCount)
    }
}

extension OutboundQueue.Entry {
    fileprivate var byteCount: Int {
        switch self {
        case .message(let message): message.byteCount
        case .chunk(let chunk, _): chunk.bytes.count
        case .mark: 0
        }
    }

    /// A message ends with it.
    fileprivate var isLast: Bool {
        if case .chunk(let chunk, _) = self { chunk.isLast } else { true }
    }

    /// Whether it is nothing for the peer.
    fileprivate var isMark: Bool { if case .mark = self { true } else { false } }
}

extension Role {
    var peer: Role { self == .client ? .server : .client }
}
