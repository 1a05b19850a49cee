import MachineCore
import WebSocketCore
import WebSocketRuntime

/// Carries messages between the app and the system's WebSocket: runs the machines of one connection, one input at a time.
final class SystemLink: RuledLink {
    /// An input, posted by any task or thread.
    enum Input: Sendable {
        /// There is something to send.
        case work
        /// The app has taken enough to continue reading.
        case room
        case close(CloseFrame)
        case abort
        case ping(Duration, LinkOutcome<Result<Duration, TransportError>>)
        case probe
        case setPingInterval(Duration?)
        case observe((any LinkObserver)?)
        case received(Result<Message, SystemFailure>)
        case sent(SystemFailure?)
        case pong([UInt8])
        case event(SystemEvent)
        /// The alarm for this moment fired.
        case alarm(Moment)
        /// The transport was released: no more requests will come.
        case release
    }
    /// Whether the link is still in use.
    enum Phase { case running, released }

    /// How long the system may take to report the other part of an end: the reason, or that no more messages come.
    static let linger = Duration.seconds(1)

    let socket: any SystemSocket
    let ports: LinkPorts
    let settings: SystemSettings
    let post: AsyncStream<Input>.Continuation
    private let time: LinkTime
    private var alarm: (at: Moment, task: Task<Void, Never>)?

    var closing: CloseHandshake
    var heartbeat: Heartbeat
    var questions = PingQuestions()
    var observer: (any LinkObserver)?
    var failure: TransportError?
    var pings: [UInt64: LinkOutcome<Result<Duration, TransportError>>] = [:]
    var lastPing: UInt64 = 0
    /// The pings for which the system has not called back, oldest first.
    var awaitedPongs: [[UInt8]] = []
    var traffic = LinkTraffic()

    // The read side.
    var isArmed = false
    var isPaused = false
    var isDiscarding = false
    /// Set when the system delivers no more messages.
    var readFailure: SystemFailure?
    /// The system's last event of the connection, with a frame if the peer sent one.
    var lastWord: (frame: CloseFrame?, failure: SystemFailure?)?
    /// The moment at which one part of an end counts as the whole end.
    var lingersUntil: Moment?

    // The write side.
    var inFlight = 0
    var gathered: (kind: MessageKind, bytes: [UInt8])?
    /// The marks to report once everything in flight was accepted.
    var marks: [UInt64] = []
    var closeFrame: CloseFrame?
    var stalledUntil: Moment?

    init(
        _ socket: any SystemSocket, _ ports: LinkPorts, _ settings: SystemSettings, _ time: LinkTime,
        _ post: AsyncStream<Input>.Continuation
    ) {
        (self.socket, self.ports, self.settings, self.time, self.post) = (socket, ports, settings, time, post)
        closing = CloseHandshake(role: .client, patience: settings.closeTimeout)
        // The payloads do not leave this process, because the system chooses its own.
        heartbeat = Heartbeat(
            interval: settings.pingInterval, patience: settings.pingTimeout, stall: settings.stallTimeout, seed: 0, openedAt: time.now())
        arm()
        setAlarm()
    }

    deinit { alarm?.task.cancel() }

    var now: Moment { time.now() }
    var question: PingMessage? { settings.pingMessage }
    var patience: Duration { settings.pingTimeout }

    func handle(_ input: Input) -> Phase {
        switch input {
        case .work: break
        case .room:
            isPaused = false
            feedHeartbeat(.resumed)
        case .close(let frame): feedClosing(.close(frame))
        case .abort: lose(.droppedHere)
        case .ping(let patience, let pong): ping(patience, pong)
        case .probe: feedHeartbeat(.probe)
        case .setPingInterval(let interval): feedHeartbeat(.setInterval(interval))
        case .observe(let observer): self.observer = isOver ? nil : observer
        case .received(let result): take(result)
        case .sent(let failure): noteSent(failure)
        case .pong(let payload): takePong(payload)
        case .event(let event): handle(event)
        case .alarm(let moment):
            if alarm?.at == moment { alarm = nil }  // Otherwise an earlier alarm has replaced it.
            wake()
        case .release:
            lose(.droppedHere)
            return .released
        }
        pump()
        arm()
        settleEnd()
        setAlarm()
        return .running
    }

    private func wake() {
        let now = now
        if let stalledUntil, now >= stalledUntil {
            lose(TransportError(.stalled, "the system accepted no outgoing data for too long"))
        }
        wakeMachines(at: now)
    }

    private func setAlarm() {
        let next = [closing.deadline, heartbeat.deadline, stalledUntil, lingersUntil].compactMap(\.self).min()
        // An early alarm is harmless, so a deadline that moves later needs no new alarm.
        guard let next, !isOver, next < alarm?.at ?? .distantFuture else { return }
        alarm?.task.cancel()
        // SAFETY: owned by the link, and cancelled with it or by another alarm.
        let task = Task { [time, post] in
            if (try? await time.sleep(next)) != nil { post.yield(.alarm(next)) }
        }
        alarm = (next, task)
    }

    /// Handles a pong; only the first call for each ping counts, because a second one is no sign of life.
    func takePong(_ payload: [UInt8]) {
        guard let index = awaitedPongs.firstIndex(of: payload) else { return }
        awaitedPongs.removeSubrange(...index)
        feedHeartbeat(.pong(payload))
    }

    func carryOut(_ effect: CloseHandshake.Effect) {
        switch effect {
        // The system has already answered a close frame of the peer.
        case .sendClose(let frame): if lastWord?.frame == nil { closeFrame = frame }
        case .endOutput: break  // The system ends TCP after its close frame.
        case .endTransport: socket.abort()
        case .finished: (stalledUntil, lingersUntil) = (nil, nil)
        }
    }

    func sendPing(_ payload: [UInt8]) {
        if awaitedPongs.count > Heartbeat.capacity { awaitedPongs.removeFirst() }
        awaitedPongs.append(payload)
        // Reported before the ping is sent, because the pong may arrive quickly.
        feedHeartbeat(.written(payload))
        socket.ping { [post] failure in
            // A failed ping is one without a pong; the read side reports whether the link is gone.
            if failure == nil { post.yield(.pong(payload)) }
        }
    }
}
