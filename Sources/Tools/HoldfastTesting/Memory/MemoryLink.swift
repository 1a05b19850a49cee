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
}

extension TransportError {
    fileprivate static let dropped = TransportError(.lost, "the connection was dropped by this side")
}
