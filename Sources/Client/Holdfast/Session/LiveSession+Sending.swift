import SessionCore
import WebSocketCore
import WebSocketRuntime

/// Sending of messages that have to wait, and the connections that take them.
extension LiveSession {
    /// Sends a message through the queue.
    func send(_ message: Message, _ lane: Lane, patience: Duration?) async throws(WebSocketError) -> SendReceipt {
        await started()
        guard let ticket = sendDriver.admit(message, lane) else { throw failure(.closed) }
        await note(.submit(id: ticket.id, lane: lane, byteCount: message.byteCount, patience: patience))
        if sendDriver.policy.whileDisconnected == .queue {
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

    /// Waits until the session runs, because nothing decides about messages before that.
    private func started() async {
        while notify == nil, !isClosed, !Task.isCancelled { await changes.next(after: changes.version) }
    }

    // MARK: - One message at a time

    func transmit(_ id: UInt64, over generation: UInt64) {
        let target = links[generation]?.target
        // SAFETY: ends when the connection has taken the message or is ending, cancelled on the order to take it back and at the end.
        inHand = (id, Task { await self.hand(id, to: target) })
    }

    func recall(_ id: UInt64) { if inHand?.id == id { inHand?.task.cancel() } }

    private func hand(_ id: UInt64, to target: SendTarget?) async {
        var answer = [Session.Input.blocked(id)]  // The connection is ending, and reports that itself.
        if let target, let ticket = sendDriver.ticket(id) {
            do throws(WebSocketError) {
                try await target.connection.send(ticket.message)
                sendDriver.take(ticket, over: target.trail)
                answer = [.taken(id)]
            } catch {
                if error.code == .cancelled { answer.append(.room) }
            }
        }
        inHand = nil
        if hasEndedSending { sendDriver.end(inHand: nil) }
        for input in answer { await note(input) }
    }

    // MARK: - Connections

    /// Adds a connection that takes messages.
    func serve(_ target: SendTarget, as generation: UInt64) {
        links[generation]?.target = target
        sendDriver.serve(target)
        held.connected()
    }

    /// Stops sending over a connection that is about to be closed, but follows the messages that it took.
    func stop(_ target: SendTarget) {
        release(target)
        target.trail.follow()
    }

    /// Handles the end of a connection.
    func end(_ target: SendTarget) {
        release(target)
        target.trail.end()
    }

    /// Stops sending over a connection.
    func release(_ target: SendTarget) { if sendDriver.target?.trail === target.trail { sendDriver.serve(nil) } }

    // MARK: - The end

    /// Refuses all waiting messages because the app closes the socket; what the connection took is still sent.
    func finishSending() async {
        let target = sendDriver.target
        sendDriver.close()
        held.end()
        await notify?(.finishSending)
        target?.trail.follow()
    }

    /// Ends all sends, because the session no longer decides about messages.
    func endSending() {
        hasEndedSending = true
        inHand?.task.cancel()
        sendDriver.end(inHand: inHand?.id)
        held.end()
        instruments.queued(count: 0, bytes: 0)
    }
}

/// Values that telemetry and paced senders still hold when the session or the app is about to end.
extension LiveSession {
    /// Sends held values before the app is suspended; returns false if the app's state has changed again meanwhile.
    func isReady(for life: AppLife.Input) async -> Bool {
        lifeNews += 1
        let news = lifeNews
        if life == .background { await sendHeld() }
        return lifeNews == news
    }

    /// Accepts no more values, and sends the held ones before the connection is closed.
    func closeHeld() async {
        held.close()
        await sendHeld()
    }

    /// Sends held values, if there is a connection and there are any.
    private func sendHeld() async { if sendDriver.target != nil, !held.isEmpty { await held.prepareToClose() } }
}

/// A sender that holds values back to send them later.
protocol HeldSender: AnyObject, Sendable {
    /// Sends all values held now, and waits for that at most as long as the flush timeout.
    func prepareToClose() async
    /// Accepts no more values; the held ones become due.
    func close()
    /// Ends sending: no value can be sent any more.
    func end()
    /// Handles a new connection.
    func connected()
    /// Handles a measured round-trip time.
    func roundTrip(_ time: Duration)
}

/// The held senders of one session: forwards the session's events to them, and keeps them alive while they hold values.
final class HeldSends: Sendable {
    private let state = LockedValue((senders: [ObjectIdentifier: any HeldSender](), isEnded: false))

    var isEmpty: Bool { state.withLockedValue({ $0.senders.isEmpty }) }
    private var senders: [any HeldSender] { state.withLockedValue { Array($0.senders.values) } }

    func add(_ sender: any HeldSender) {
        let isEnded = state.withLockedValue { state in
            if !state.isEnded { state.senders[ObjectIdentifier(sender)] = sender }
            return state.isEnded
        }
        if isEnded { sender.end() }
    }

    func remove(_ sender: any HeldSender) { state.withLockedValue { _ = $0.senders.removeValue(forKey: ObjectIdentifier(sender)) } }

    /// Lets all senders send what they hold.
    func prepareToClose() async {
        let senders = senders
        await withDiscardingTaskGroup { group in
            for sender in senders { group.addTask { await sender.prepareToClose() } }
        }
    }

    func close() { for sender in senders { sender.close() } }

    func end() {
        let senders = state.withLockedValue { state in
            state.isEnded = true
            defer { state.senders = [:] }
            return state.senders.values
        }
        for sender in senders { sender.end() }
    }

    func connected() { for sender in senders { sender.connected() } }

    func roundTrip(_ time: Duration) { for sender in senders { sender.roundTrip(time) } }
}
