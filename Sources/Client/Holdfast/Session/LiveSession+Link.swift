import MachineCore
import SessionCore
import WebSocketCore
import WebSocketRuntime

/// From an attempt to the end of the connection that came of it.
extension LiveSession {
    /// Opens one connection, stays until it has ended, and tells the session both.
    func open(_ attempt: Reconnector.Attempt) async {
        let generation = attempt.generation
        let loss = await lossOfConnection(attempt)
        let link = links.removeValue(forKey: generation)
        changes.announce()
        lastLost = link?.connection.map { (ObjectIdentifier($0.transport), generation) }
        let isForgotten = link?.isForgotten ?? true
        instruments.ended(generation, loss.cause, isForgotten: isForgotten || isStopping)
        if !isForgotten, let cause = loss.cause { (lastCause, lastRecord) = (cause, cause.closeRecord) }
        if !isForgotten { (isRefused, lostCredential) = (losses[loss.loss.cause] == .refreshCredentials, link?.credential) }
        await note(.lost(generation: generation, loss.loss))
    }

    private func lossOfConnection(_ attempt: Reconnector.Attempt) async -> (loss: Loss, cause: WebSocketError?) {
        await roomInBacklog()
        do throws(WebSocketError) {
            if Task.isCancelled || isStopping { throw WebSocketError(TransportError(.cancelled, "the attempt was given up")) }
            let request = WebSocketAttempt(number: attempt.number, endpoint: attempt.endpoint, credential: credential)
            links[attempt.generation]?.credential = credential
            let (connection, handshake) = try await instruments.connecting(request) { () async throws(WebSocketError) in
                // One endpoint may repeat what another one was told.
                do throws(WebSocketError) { return try await connect(request) } catch { throw error.hiding(instruments.secrets) }
            }
            guard let link = links[attempt.generation], !link.isForgotten, !isStopping, !isClosed else {
                connection.abort()  // Nobody waits for it any more.
                throw WebSocketError(TransportError(.cancelled, "the attempt was given up"))
            }
            (challenges, isRefused, lostCredential) = ([], false, nil)
            dropForgotten(before: attempt.generation)
            links[attempt.generation]?.connection = connection
            connection.transport.observe(LinkWitness(self, generation: attempt.generation))
            (self.connection, lastCause) = (connection, nil)
            let line = SendLine(connection)
            serve(line, as: attempt.generation)
            instruments.opened(attempt.generation, request, connection, handshake: handshake)
            // Before anybody sees it: from here on it counts as open.
            await note(.awaitReadiness(protocols.withLockedValue { $0 > 0 }))
            await note(.opened(generation: attempt.generation))
            await shown(attempt.generation)
            let ending = await watched { await connection.transport.ended() }
            if self.connection?.transport === connection.transport { self.connection = nil }
            end(line)
            let judged = judge(ending)
            guard let pause = links[attempt.generation]?.pause else { return judged }
            return (Loss(.lost, retryAfter: pause), judged.cause)
        } catch {
            challenges = error.challenges
            return (Loss(error.transport), error)
        }
    }

    /// The messages of a connection come after all of those before it: one that was given up, and whose peer does not answer the close,
    /// would keep them from the app until the close times out.
    private func dropForgotten(before generation: UInt64) {
        for (older, link) in links where older < generation && link.isForgotten { link.connection?.abort() }
    }

    /// The newest connection is given up: if that was to take over, and had opened just when it was too late, the one before it stays.
    func fallBack() {
        let kept = links.filter { !$0.value.isForgotten }.max { $0.key < $1.key }?.value
        connection = kept?.connection
        if let line = kept?.line { desk.serve(line) }
    }

    private func judge(_ ending: Result<CloseRecord, TransportError>) -> (loss: Loss, cause: WebSocketError?) {
        switch ending {
        case .failure(let error): return (Loss(error), WebSocketError(error))
        case .success(let record):
            var error = TransportError(.closed, "the connection was closed with \(record.code)")
            error.record = record
            return (Loss(error), WebSocketError(error))
        }
    }

    /// Waits until the consumers were told of a connection, or until that is out of the question.
    private func shown(_ generation: UInt64) async {
        while true {
            let version = changes.version
            guard let link = links[generation], !link.isShown, !link.isForgotten, !isStopping, !isClosed, !Task.isCancelled else { return }
            await changes.next(after: version)
        }
    }

    /// Tells the consumers of a connection that is the present one now: after the state, and unless its end was ordered meanwhile.
    private func show(_ attempt: Reconnector.Attempt) {
        guard let link = links[attempt.generation], let connection = link.connection, !link.isShown, !link.isForgotten, !isStopping
        else { return }
        links[attempt.generation]?.isShown = true
        show(Opening(connection: connection, attempt: attempt.number, downtime: outage.last))
    }

    func report(_ phase: Reconnector.Phase, at now: Moment) {
        outage.note(phase, at: now)
        if let state = WebSocketState(phase, at: now, cause: lastCause), !isStopping { show(state) }
        switch phase {
        case .waiting(let until, let attempt):
            guard let lastCause, !isStopping else { return }
            add(.reconnecting(attempt: attempt, delay: until - now, cause: lastCause))
        case .stopped(let reason): end(with: isPeaceful(reason) ? nil : lastCause)
        case .connected(let attempt, _): show(attempt)
        case .idle, .connecting, .handingOver, .held: break
        }
    }

    private func isPeaceful(_ reason: Reconnector.StopReason) -> Bool {
        if case .asked = reason { return true }
        return isStopping || lastCause?.closeRecord.map { $0.isClean && ($0.code == .normal || $0.closedFirst == .local) } ?? false
    }
}

/// Whether the present connection lives, and how long a round trip takes.
extension LiveSession {
    /// A ping of the connection of this generation was answered; called on its own thread.
    nonisolated func noteRoundTrip(_ time: Duration, isAutomatic: Bool, generation: UInt64) {
        instruments.roundTrip(time)
        held.roundTrip(time)
        guard isAutomatic else { return }
        // SAFETY: one step of the session; automatic pings are rare.
        Task { await note(.answered(generation: generation)) }
    }

    /// Asks the present connection; if there is none, nobody waits for one.
    func ping(timeout: Duration?) async throws(WebSocketError) -> Duration {
        if let usable { return try await usable.ping(timeout: timeout) }
        if isClosed || isStopping { throw closedError }
        let words = obstacle.map { " (\($0.words))" } ?? ""
        throw WebSocketError(TransportError(.unreachable, "there is no connection to ping\(words)", underlying: obstacle))
    }
}

/// Tells a session what a connection of its measures.
final class LinkWitness: LinkObserver {
    private let session: LiveSession
    private let generation: UInt64

    init(_ session: LiveSession, generation: UInt64) { (self.session, self.generation) = (session, generation) }

    func roundTrip(_ time: Duration, isAutomatic: Bool) {
        session.noteRoundTrip(time, isAutomatic: isAutomatic, generation: generation)
    }
}
