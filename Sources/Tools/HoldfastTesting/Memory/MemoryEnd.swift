import DequeModule
import Holdfast
import WebSocketRuntime

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
