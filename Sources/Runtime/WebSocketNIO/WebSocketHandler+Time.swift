import MachineCore
import NIOCore
import WebSocketCore
import WebSocketRuntime

extension WebSocketHandler {
    /// Measures the round-trip time for the app.
    func ping(_ id: UInt64, timeout: Duration, _ promise: EventLoopPromise<Duration>) {
        guard context != nil, !closing.isClosing else { return promise.fail(failure ?? .closing) }
        pings[id] = promise
        feedHeartbeat(.pingRequested(id: id, patience: timeout))
        flush()
    }

    /// Checks whether the peer is alive.
    func probe() {
        guard context != nil, !closing.isClosing else { return }
        feedHeartbeat(.probe)
        flush()
    }

    /// Sets the length of silence after which a ping is sent.
    func setPingInterval(_ interval: Duration?) {
        feedHeartbeat(.setInterval(interval))
        flush()
    }

    func feedHeartbeat(_ input: Heartbeat.Input) {
        noteActivity()
        heartbeat.handle(input, at: now, into: &heartbeatEffects)
        performHeartbeat()
    }

    /// Handles the deadline of a machine or of a stalled socket.
    ///
    /// If the event loop was blocked for long, the peer's answer may lie unread in the socket: it is read before anything is decided.
    func alarmRang() {
        let now = now
        let respite = lateAlarm.rings(due: alarm.take(), at: now)
        if let respite { return setAlarm(notBefore: respite) }
        if let due = stalledUntil, now >= due {
            stalledUntil = nil  // Over TLS the end takes a while, and the same alarm would fire again and again.
            abort(TransportError(.stalled, "the peer accepted no data for too long"))
        }
        if let untold, now >= untold.until { notifyViolation() }
        noteActivity()
        heartbeat.wake(at: now, into: &heartbeatEffects)
        performHeartbeat()
        var effects: [CloseHandshake.Effect] = []
        closing.wake(at: now, into: &effects)
        perform(effects)
        flush()
    }

    /// Sets the alarm for the next deadline; an early alarm is harmless, so a deadline that moves later needs no new alarm.
    func setAlarm(notBefore earliest: Moment = .start) {
        guard context != nil else { return }
        var next = heartbeat.deadline ?? .distantFuture
        if let due = closing.deadline { next = min(next, due) }
        if let due = stalledUntil { next = min(next, due) }
        if let due = untold?.until { next = min(next, due) }
        next = max(next, earliest)
        guard next < alarm ?? .distantFuture else { return }
        alarm = next
        local.setAlarm(self, at: origin + TimeAmount(next.offset))
    }

    /// Tells the heartbeat the time of the last received bytes when it has to decide something, and not at every read.
    func noteActivity() {
        guard let at = activeAt.take() else { return }
        heartbeat.handle(.activity, at: moment(at), into: &heartbeatEffects)
    }

    private func performHeartbeat() {
        if !heartbeatEffects.isEmpty {
            let effects = heartbeatEffects
            heartbeatEffects.removeAll(keepingCapacity: true)
            for effect in effects { perform(effect) }
        }
        setAlarm()
    }

    private func perform(_ effect: Heartbeat.Effect) {
        switch effect {
        case .sendPing(let payload):
            if let question = settings.pingMessage, heartbeat.isAutomatic(payload) { ask(question, payload) } else { ping(payload) }
        case .roundTrip(let id, let duration):
            observer?.roundTrip(duration, isAutomatic: id == nil)
            if let id { pings.removeValue(forKey: id)?.succeed(duration) }
        case .expired(let id):
            let isOver = closing.isClosing || survivor != nil
            let error = isOver ? failure ?? .closing : TransportError(.timedOut, "no pong arrived in time, or too many pings wait")
            pings.removeValue(forKey: id)?.fail(error)
        case .dead:
            abort(TransportError(.unresponsive, "the peer was silent for too long and did not answer a ping"))
        }
    }
}
