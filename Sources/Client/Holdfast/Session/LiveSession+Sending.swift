import SessionCore
import WebSocketCore
import WebSocketRuntime

/// What cannot go out at once, and the connections that it goes to.
extension LiveSession {
    /// Sends a message that has to take its place in the queue.
    func send(_ message: Message, _ lane: Lane, patience: Duration?) async throws(WebSocketError) -> SendReceipt {
        await started()
        guard let ticket = desk.admit(message, lane) else { throw failure(.closed) }
        await note(.submit(id: ticket.id, lane: lane, byteCount: message.byteCount, patience: patience))
        if desk.policy.whileDisconnected == .queue {
            if case .refused(let reason) = ticket.leave() { throw failure(reason) }
            return SendReceipt(.queued(ticket))
        }
        var end = await ticket.end()
        if end == nil {
            await note(.withdraw(ticket.id))
            end = await ticket.endForSure()
        }
        if case .refused(let reason) = end { throw failure(reason) }
        return SendReceipt(.queued(ticket))
    }

    /// Nobody has decided anything before it runs.
    private func started() async {
        while tell == nil, !isClosed, !Task.isCancelled { await changes.next(after: changes.version) }
    }

    // MARK: - One message at a time

    func transmit(_ id: UInt64, over generation: UInt64) {
        let line = links[generation]?.line
        // SAFETY: ends when the connection has taken the message or is ending, cancelled on the order to take it back and at the end.
        inHand = (id, Task { await self.hand(id, to: line) })
    }

    func recall(_ id: UInt64) { if inHand?.id == id { inHand?.task.cancel() } }

    private func hand(_ id: UInt64, to line: SendLine?) async {
        var answer = [Session.Input.blocked(id)]  // It is ending, and says so by itself.
        if let line, let ticket = desk.ticket(id) {
            do throws(WebSocketError) {
                try await line.connection.send(ticket.message)
                desk.take(ticket, over: line.trail)
                answer = [.taken(id)]
            } catch {
                if error.code == .cancelled { answer.append(.room) }
            }
        }
        inHand = nil
        if hasEndedSending { desk.end(inHand: nil) }
        for input in answer { await note(input) }
    }

    // MARK: - Connections

    /// Another connection takes messages.
    func serve(_ line: SendLine, as generation: UInt64) {
        links[generation]?.line = line
        desk.serve(line)
        held.connected()
    }

    /// The connection takes no more, and is about to be closed: what it took is followed to its end.
    func stop(_ line: SendLine) {
        release(line)
        line.trail.follow()
    }

    /// The connection has ended.
    func end(_ line: SendLine) {
        release(line)
        line.trail.end()
    }

    /// Nothing more is sent there.
    func release(_ line: SendLine) { if desk.line?.trail === line.trail { desk.serve(nil) } }

    // MARK: - The end

    /// What waits is refused, for the app wants no more; what the connection took still leaves.
    func finishSending() async {
        let line = desk.line
        desk.close()
        held.end()
        await tell?(.finishSending)
        line?.trail.follow()
    }

    /// Nobody decides anything any more.
    func endSending() {
        hasEndedSending = true
        inHand?.task.cancel()
        desk.end(inHand: inHand?.id)
        held.end()
        instruments.queued(count: 0, bytes: 0)
    }
}

/// What telemetry and paced senders still hold, when the session or the app is about to go.
extension LiveSession {
    /// Lets what is held go out before the app is gone; false if there is newer news of the app's life meanwhile.
    func isReady(for life: AppLife.Input) async -> Bool {
        lifeNews += 1
        let news = lifeNews
        if life == .background { await sendHeld() }
        return lifeNews == news
    }

    /// Takes nothing more, and lets what is held go out before the connection is closed.
    func closeHeld() async {
        held.close()
        await sendHeld()
    }

    /// Without a connection there is nothing to wait for.
    private func sendHeld() async { if desk.line != nil, !held.isEmpty { await held.sayFarewell() } }
}
