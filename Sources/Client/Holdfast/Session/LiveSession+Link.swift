import MachineCore
import SessionCore
import WebSocketCore
package import WebSocketRuntime

#if SwiftNIO
    import WebSocketNIO
#endif

/// The life of one connection, from the attempt to its end.
extension LiveSession {
    /// Opens one connection, waits until it has ended, and reports both events to the session.
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
                // One endpoint may repeat secrets that another endpoint received.
                do throws(WebSocketError) { return try await connect(request) } catch { throw error.hiding(instruments.secrets) }
            }
            guard let link = links[attempt.generation], !link.isForgotten, !isStopping, !isClosed else {
                connection.abort()  // Nothing waits for it any more.
                throw WebSocketError(TransportError(.cancelled, "the attempt was given up"))
            }
            (challenges, isRefused, lostCredential) = ([], false, nil)
            dropForgotten(before: attempt.generation)
            links[attempt.generation]?.connection = connection
            connection.transport.observe(LinkTracker(self, generation: attempt.generation))
            (self.connection, lastCause) = (connection, nil)
            let target = SendTarget(connection)
            serve(target, as: attempt.generation)
            instruments.opened(attempt.generation, request, connection, handshake: handshake)
            // Sent before any consumer sees the connection: from here on the session counts it as open.
            await note(.awaitReadiness(protocols.withLockedValue { $0 > 0 }))
            await note(.opened(generation: attempt.generation))
            await shown(attempt.generation)
            let ending = await watched { await connection.transport.ended() }
            if self.connection?.transport === connection.transport { self.connection = nil }
            end(target)
            let judged = judge(ending)
            guard let pause = links[attempt.generation]?.pause else { return judged }
            return (Loss(.lost, retryAfter: pause), judged.cause)
        } catch {
            challenges = error.challenges
            return (Loss(error.transport), error)
        }
    }

    /// Aborts older connections that the session has given up.
    ///
    /// The app reads the messages of a connection after those of all older ones. If the peer of a given-up connection does not answer the
    /// close frame, the app would otherwise wait for the new messages until the close timeout.
    private func dropForgotten(before generation: UInt64) {
        for (older, link) in links where older < generation && link.isForgotten { link.connection?.abort() }
    }

    /// Returns to the previous connection after the newest one was given up, for example when a handover came too late.
    func fallBack() {
        let kept = links.filter { !$0.value.isForgotten }.max { $0.key < $1.key }?.value
        connection = kept?.connection
        if let target = kept?.target { sendDriver.serve(target) }
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

    /// Waits until the consumers were told of a connection, or until that can no longer happen.
    private func shown(_ generation: UInt64) async {
        while true {
            let version = changes.version
            guard let link = links[generation], !link.isShown, !link.isForgotten, !isStopping, !isClosed, !Task.isCancelled else { return }
            await changes.next(after: version)
        }
    }

    /// Tells the consumers of the present connection, after the state change; does nothing if the connection was ordered to end meanwhile.
    private func show(_ attempt: Reconnector.Attempt) {
        guard let link = links[attempt.generation], let connection = link.connection, !link.isShown, !link.isForgotten, !isStopping
        else { return }
        links[attempt.generation]?.isShown = true
        show(Opening(connection: connection, attempt: attempt.number, downtime: outage.last))
    }

    func report(_ phase: Reconnector.Phase, at now: Moment) {
        outage.note(phase, at: now)
        let nextAttempt: Moment? = if case .waiting(let until, _) = phase { until } else { nil }
        if let state = WebSocketState(phase, at: now, cause: lastCause), !isStopping { show(state, nextAttempt: nextAttempt) }
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

/// Round-trip times and pings of the present connection.
extension LiveSession {
    /// Records that a ping of the connection of this generation was answered; called on the connection's own thread.
    nonisolated func noteRoundTrip(_ time: Duration, isAutomatic: Bool, generation: UInt64) {
        instruments.roundTrip(time)
        held.roundTrip(time)
        guard isAutomatic else { return }
        // SAFETY: one step of the session; automatic pings are rare.
        Task { await note(.answered(generation: generation)) }
    }

    /// Sends a ping over the present connection; throws at once if there is none.
    func ping(timeout: Duration?) async throws(WebSocketError) -> Duration {
        if let usable { return try await usable.ping(timeout: timeout) }
        if isClosed || isStopping { throw closedError }
        let words = obstacle.map { " (\($0.words))" } ?? ""
        throw WebSocketError(TransportError(.unreachable, "there is no connection to ping\(words)", underlying: obstacle))
    }
}

/// Reports measurements of a connection to its session.
final class LinkTracker: LinkObserver {
    private let session: LiveSession
    private let generation: UInt64

    init(_ session: LiveSession, generation: UInt64) { (self.session, self.generation) = (session, generation) }

    func roundTrip(_ time: Duration, isAutomatic: Bool) {
        session.noteRoundTrip(time, isAutomatic: isAutomatic, generation: generation)
    }
}

extension MessageTransport {
    /// Stops other WebSockets from sharing this TCP connection, because a reconnect should avoid a connection that may be broken.
    package func leaveSharedConnection() {
        #if SwiftNIO
            (carrier as? WebSocketChannel)?.leaveShared()
        #endif
    }
}
