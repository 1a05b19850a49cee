import MachineCore
import WebSocketCore
import WebSocketRuntime

/// Carries messages between the app and the system's WebSocket, one input at a time: the shell around the machines of one connection.
final class SystemLink: RuledLink {
    /// What can happen, told by any task or thread.
    enum Input: Sendable {
        /// There is something to send.
        case work
        /// The app has taken enough to go on.
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
        /// The alarm that was set for this moment rang.
        case alarm(Moment)
        /// The transport is gone: nobody will ask for anything.
        case release
    }
    /// What is left to do.
    enum Phase { case running, released }

    /// How long the system may take to tell the other half of an end: why, or that nothing more comes.
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
    /// The pings that the system has not called back for, oldest first.
    var awaitedPongs: [[UInt8]] = []
    var traffic = LinkTraffic()

    // What is read.
    var isArmed = false
    var isPaused = false
    var isDiscarding = false
    /// The system gives no more messages.
    var readFailure: SystemFailure?
    /// The system's last word on the connection; a frame if the peer sent one.
    var lastWord: (frame: CloseFrame?, failure: SystemFailure?)?
    /// When half an end counts as a whole one.
    var lingersUntil: Moment?

    // What is sent.
    var inFlight = 0
    var gathered: (kind: MessageKind, bytes: [UInt8])?
    /// Who wants to know when all that is in flight was taken.
    var marks: [UInt64] = []
    var closeFrame: CloseFrame?
    var stalledUntil: Moment?

    init(
        _ socket: any SystemSocket, _ ports: LinkPorts, _ settings: SystemSettings, _ time: LinkTime,
        _ post: AsyncStream<Input>.Continuation
    ) {
        (self.socket, self.ports, self.settings, self.time, self.post) = (socket, ports, settings, time, post)
        closing = CloseHandshake(role: .client, patience: settings.closeTimeout)
        // The payloads stay within this process: the system chooses its own.
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
        case .event(let event): hear(event)
        case .alarm(let moment):
            if alarm?.at == moment { alarm = nil }  // Otherwise an earlier alarm has taken its place.
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
            lose(TransportError(.stalled, "the system took nothing of what we send, for too long"))
        }
        wakeMachines(at: now)
    }

    private func setAlarm() {
        let next = [closing.deadline, heartbeat.deadline, stalledUntil, lingersUntil].compactMap(\.self).min()
        // An alarm that rings early is harmless, so a deadline that moves later costs nothing.
        guard let next, !isOver, next < alarm?.at ?? .distantFuture else { return }
        alarm?.task.cancel()
        // SAFETY: owned by the link, and cancelled with it or by another alarm.
        let task = Task { [time, post] in
            if (try? await time.sleep(next)) != nil { post.yield(.alarm(next)) }
        }
        alarm = (next, task)
    }

    /// Only the first call for a ping counts: a second one is no sign of life.
    func takePong(_ payload: [UInt8]) {
        guard let index = awaitedPongs.firstIndex(of: payload) else { return }
        awaitedPongs.removeSubrange(...index)
        feedHeartbeat(.pong(payload))
    }

    func carryOut(_ effect: CloseHandshake.Effect) {
        switch effect {
        // The system has answered a close frame of the peer by itself.
        case .sendClose(let frame): if lastWord?.frame == nil { closeFrame = frame }
        case .endOutput: break  // The system ends TCP after its close frame.
        case .endTransport: socket.abort()
        case .finished: (stalledUntil, lingersUntil) = (nil, nil)
        }
    }

    func sendPing(_ payload: [UInt8]) {
        if awaitedPongs.count > Heartbeat.capacity { awaitedPongs.removeFirst() }
        awaitedPongs.append(payload)
        // Before it is asked for: a pong may be quick.
        feedHeartbeat(.written(payload))
        socket.ping { [post] failure in
            // A ping that failed is one without a pong; whether the link is gone is told by what is read.
            if failure == nil { post.yield(.pong(payload)) }
        }
    }
}
