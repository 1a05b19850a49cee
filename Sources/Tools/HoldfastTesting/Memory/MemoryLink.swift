import DequeModule
import Holdfast
import WebSocketRuntime

/// Moves frames between the two ends of an in-memory connection, one input at a time, and drives their machines.
final class MemoryLink {
    /// The inputs of the link; any task may send them.
    enum Input: Sendable {
        /// An outbound queue has something to send.
        case work
        /// The app at this end has taken enough messages to continue.
        case room(Role)
        case close(Role, CloseFrame)
        case abort(Role)
        case ping(Role, Duration, LinkOutcome<Result<Duration, TransportError>>)
        case probe(Role)
        case setPingInterval(Role, Duration?)
        case observe(Role, (any LinkObserver)?)
        case stall, resume, cut
        /// The alarm for this moment went off.
        case alarm(Moment)
        /// The transport of this end was released: no more requests will come.
        case release(Role)
    }
    /// Whether the link still runs.
    enum Phase {
        case running, released
    }

    let client, server: MemoryEnd
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

    private var now: Moment { time.now() }

    func handle(_ input: Input) -> Phase {
        switch input {
        case .work: break
        case .room(let role):
            self[role].isPaused = false
            self[role].feedHeartbeat(.resumed)
        case .close(let role, let frame): self[role].feedClosing(.close(frame))
        case .abort(let role): self[role].lose(.droppedHere)
        case .ping(let role, let patience, let pong): self[role].ping(patience, pong)
        case .probe(let role): self[role].feedHeartbeat(.probe)
        case .setPingInterval(let role, let interval): self[role].feedHeartbeat(.setInterval(interval))
        case .observe(let role, let observer): self[role].observer = self[role].isOver ? nil : observer
        case .stall: isStalled = true
        case .resume: isStalled = false
        // The client comes last: when it connects again, the old server end is already over.
        case .cut: for role in [Role.server, .client] { self[role].feedClosing(.transportEnded) }
        case .alarm(let moment):
            if alarm?.at == moment { alarm = nil }  // Otherwise an earlier alarm has replaced it.
            wake()
        case .release(let role):
            self[role].isReleased = true
            self[role].lose(.droppedHere)
        }
        carry()
        setAlarm()
        return client.isReleased && server.isReleased ? .released : .running
    }

    subscript(_ role: Role) -> MemoryEnd { role == .client ? client : server }

    /// Moves frames until nothing more can move.
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
                self[role].lose(TransportError(.stalled, "the peer has read nothing for too long"))
            }
            self[role].wakeMachines(at: now)
        }
    }

    private func setAlarm() {
        let next = Moment.earliest(client.deadline, server.deadline) ?? .distantFuture
        // An alarm that goes off early is harmless, so a deadline that moves later needs no new alarm.
        guard next < alarm?.at ?? .distantFuture else { return }
        alarm?.task.cancel()
        // SAFETY: the link owns the task and cancels it when the link ends or sets another alarm.
        let task = Task { [time, post] in
            if (try? await time.sleep(next)) != nil { post.yield(.alarm(next)) }
        }
        alarm = (next, task)
    }

    private static let batchSize = 16 * 1024

    /// Moves waiting frames from one end to the other; returns false if nothing could move.
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
            if self[role].stalledUntil.take() != nil { self[role].feedHeartbeat(.activity) }
            let frames = entries.filter { !$0.isMark }
            for frame in frames { self[role].traffic.countSent(frame) }
            self[role].ports.meter.notify(self[role].traffic)
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

    /// Starts the stall timeout when something waits for the peer and does not move.
    func measureStall(of role: Role) {
        guard !self[role].isOver, self[role].ports.outbound.awaitWork() else { return self[role].stalledUntil = nil }
        if self[role].stalledUntil == nil { self[role].stalledUntil = now + self[role].stall }
    }

    private func hangUp(_ role: Role) -> Bool {
        guard !self[role].isOver else { return false }
        self[role].feedClosing(.transportEnded)
        return true
    }

    private func deliver(_ control: MemoryEnd.Control, to role: Role) {
        self[role].feedHeartbeat(.activity)
        guard !self[role].isDiscarding else { return }
        switch control {
        // RFC 6455 §5.5.2: a ping is not answered after a close frame was received.
        case .ping(let payload): self[role].enqueue(.pong(payload))
        case .pong(let payload): self[role].feedHeartbeat(.pong(payload))
        }
    }

    private func deliver(_ entries: some Collection<OutboundQueue.Entry>, to role: Role) {
        guard !entries.isEmpty else { return }
        self[role].feedHeartbeat(.activity)
        var batch = ReceivedBatch()
        do throws(ProtocolViolation) {
            for entry in entries where !self[role].isDiscarding {
                self[role].traffic.countReceived(entry)
                if let received = try self[role].assembly.receive(entry) { batch.append(received) }
            }
            self[role].hand(&batch)
        } catch {
            self[role].hand(&batch)
            self[role].fail(error)
        }
    }

    private func deliverClose(_ frame: CloseFrame, to role: Role) {
        self[role].feedHeartbeat(.activity)
        guard !self[role].isDiscarding else { return }
        self[role].isDiscarding = true
        self[role].feedClosing(.peerClose(frame))
    }
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

    /// Whether a message ends with this entry.
    fileprivate var isLast: Bool {
        if case .chunk(let chunk, _) = self { chunk.isLast } else { true }
    }

    /// Whether the entry is a mark, which the peer does not get.
    fileprivate var isMark: Bool { if case .mark = self { true } else { false } }
}

extension Role {
    var peer: Role { self == .client ? .server : .client }
}

/// The state of one end of a link.
final class MemoryEnd: RuledLink {
    /// A control frame, which is sent before messages.
    enum Control {
        case ping([UInt8]), pong([UInt8])
    }

    let ports: LinkPorts
    private let time: LinkTime
    var closing: CloseHandshake
    var heartbeat: Heartbeat
    var assembly: MemoryAssembly
    let stall: Duration
    /// The ping message of the client; nil for a server.
    let question: PingMessage?
    let patience: Duration
    var questions = PingQuestions()
    var observer: (any LinkObserver)?
    var failure: TransportError?
    var pings: [UInt64: LinkOutcome<Result<Duration, TransportError>>] = [:]
    var lastPing: UInt64 = 0

    // Waiting for the peer, in this order: controls, the outbound queue, then these.
    var controls: Deque<Control> = []
    var closeFrame: CloseFrame?
    var endsOutput = false
    /// The moment when the peer counts as stalled; nil while nothing waits for it.
    var stalledUntil: Moment?

    /// The traffic of this end.
    var traffic = LinkTraffic()

    var isPaused = false
    var isDiscarding = false
    var isReleased = false

    init(_ role: Role, _ ports: LinkPorts, _ configuration: WebSocketConfiguration, _ time: LinkTime) {
        let timeouts = configuration.timeouts
        (self.ports, self.time) = (ports, time)
        closing = CloseHandshake(role: role, patience: timeouts.close)
        // The seed makes payloads of different connections differ; here no frame leaves the connection.
        heartbeat = Heartbeat(interval: timeouts.pingInterval, patience: timeouts.ping, stall: timeouts.stall, seed: 0)
        assembly = MemoryAssembly(configuration.delivery, limit: configuration.limits.message)
        (stall, patience) = (timeouts.stall, timeouts.ping)
        question = role == .client ? configuration.pingMessage : nil
    }

    /// Queues a control frame; if the queue is full, drops the oldest one.
    func enqueue(_ control: Control) {
        if controls.count >= Heartbeat.capacity { controls.removeFirst() }
        controls.append(control)
    }

    var now: Moment { time.now() }

    func carryOut(_ effect: CloseHandshake.Effect) {
        switch effect {
        case .sendClose(let frame): closeFrame = frame
        case .endOutput: endsOutput = true
        case .endTransport, .finished: break  // The machine's phase shows it.
        }
    }

    func sendPing(_ payload: [UInt8]) {
        enqueue(.ping(payload))
        feedHeartbeat(.written(payload))
    }

    var deadline: Moment? { .earliest(closing.deadline, heartbeat.deadline, stalledUntil) }
}

/// Assembles incoming frames into whole messages or pieces, within the limits.
struct MemoryAssembly {
    private let delivery: Delivery
    private let limit: Int
    /// The message that arrives in pieces: its bytes so far, or only its size if pieces are passed on.
    private var partial: [UInt8] = []
    private var size = 0
    private var validator = UTF8Validator()

    init(_ delivery: Delivery, limit: Int) { (self.delivery, self.limit) = (delivery, limit) }

    /// Returns what the app gets now; nil if more has to arrive first.
    mutating func receive(_ entry: OutboundQueue.Entry) throws(ProtocolViolation) -> Received? {
        switch entry {
        case .message(let message):
            try check(message.byteCount)
            return delivery == .messages ? .message(message) : .chunk(message.onlyPiece)
        case .chunk(let chunk, _):
            return try receive(chunk)
        case .mark: return nil
        }
    }

    private mutating func receive(_ chunk: MessageChunk) throws(ProtocolViolation) -> Received? {
        size += chunk.bytes.count
        try check(size)
        if chunk.kind == .text {
            let isText = chunk.bytes.withUnsafeBytes { validator.validate($0) } && (!chunk.isLast || validator.isComplete)
            guard isText else { throw ProtocolViolation(.invalidUTF8, "a text message") }
        }
        if delivery == .messages { partial += chunk.bytes }
        guard chunk.isLast else { return delivery == .chunks ? .chunk(chunk) : nil }
        defer { (partial, size, validator) = ([], 0, UTF8Validator()) }
        guard delivery == .messages else { return .chunk(chunk) }
        return .message(chunk.kind == .text ? .text(String(decoding: partial, as: UTF8.self)) : .binary(partial))
    }

    private func check(_ size: Int) throws(ProtocolViolation) {
        if size > limit { throw ProtocolViolation(.messageTooBig, "\(size) bytes, at most \(limit) are allowed (limits.message)") }
    }
}
