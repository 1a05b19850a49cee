import WebSocketCore
import WebSocketRuntime

/// Connects a socket's events with all of their consumers; runs the rules of an ``EventShare``.
///
/// SAFETY: everything is used under the lock, except `current`, which belongs to the reader; the rules allow one reader at a time.
final class EventHub: @unchecked Sendable {
    typealias Share = EventShare<WebSocketEvent>

    let session: LiveSession
    let lock = LockedValue<Void>()
    @exclusivity(unchecked) var share = Share()
    @exclusivity(unchecked) var requests: RequestTable
    /// The connection being read, kept here so that a message needs no call to the session actor.
    @exclusivity(unchecked) var current: (connection: WebSocketConnection, messages: MessageTaker)?
    var lastRequestID: UInt64 = 0
    /// The lanes whose consumers get messages as values.
    @exclusivity(unchecked) var lanes: [any StreamLane] = []
    /// Tells for each of these consumers whether it is full.
    @exclusivity(unchecked) var isHeld: [Share.Party: () -> Bool] = [:]
    private var places: [Share.Party: CheckedContinuation<Void, Never>] = [:]
    private var pump: (consumer: Share.Party, task: Task<Void, Never>)?

    init(_ session: LiveSession, requestLimit: Int) {
        self.session = session
        requests = RequestTable(limit: requestLimit)
    }

    // MARK: - Consumers

    func subscribe(_ buffering: EventBuffering, _ interest: Share.Interest, reports: Bool) -> Share.Party {
        change { share.subscribe(buffering, interest, reports: reports) }
    }

    func leave(_ consumer: Share.Party) { change { share.leave(consumer) } }

    /// Reports an event about a message to the consumers of all events.
    func report(_ event: WebSocketEvent) { change { share.report(event) } }

    /// Returns what a consumer has to do next; takes a message that is ready at once, under one lock.
    func turn(of consumer: Share.Party) -> Share.Turn {
        change {
            let turn = share.take(consumer)
            return readyMessage(for: consumer, turn) ?? turn
        }
    }

    /// Lends a ready message to a consumer whose turn it is to read, if it is the only one; otherwise as ``turn(of:)``.
    func borrow<Result>(_ consumer: Share.Party, _ body: (RawSpan, MessageKind) -> Result) -> (lent: Result?, turn: Share.Turn) {
        let (turn, messages) = change { () -> (Share.Turn, MessageTaker?) in
            let turn = share.take(consumer)
            if case .read = turn, requests.isEmpty, share.isLone(consumer) { return (turn, current?.messages) }
            return (readyMessage(for: consumer, turn) ?? turn, nil)
        }
        // The app's code does not run under the lock. The reader has exclusive use of the messages without it.
        var lent: Result?
        _ = messages?.lendReady { kind, payload in
            lent = body(payload, kind)
            return false
        }
        if lent != nil { change { share.release(consumer) } }
        return (lent, turn)
    }

    private func readyMessage(for consumer: Share.Party, _ turn: Share.Turn) -> Share.Turn? {
        guard case .read = turn, requests.isEmpty, let message = current?.messages.ready() else { return nil }
        // It is the consumer's turn: a consumer is told to read only after it has taken everything else.
        _ = share.deliver(.message(message), .message, by: consumer)
        return .event(.message(message))
    }

    /// Waits for the next event of a consumer, starting with the given turn; returns nil after the last, or when the task is cancelled.
    func next(
        for consumer: Share.Party, after first: Share.Turn, isolation actor: isolated (any Actor)? = #isolation
    ) async -> WebSocketEvent? {
        var turn = first
        while true {
            switch turn {
            case .event(let event): return event
            case .missed(let count): return .missed(count)
            case .over: return nil
            case .read:
                guard let event = await read() else {
                    leave(consumer)
                    return nil
                }
                if deliver(event, by: consumer) { return event }
            case .wait:
                guard await called(consumer) else {
                    leave(consumer)
                    return nil
                }
            }
            turn = self.turn(of: consumer)
        }
    }

    // MARK: - Waiting

    /// Waits until called; returns false if the task is cancelled.
    func called(_ consumer: Share.Party, isolation actor: isolated (any Actor)? = #isolation) async -> Bool {
        if Task.isCancelled { return false }
        await withTaskCancellationHandler {
            _ = actor  // A task that waits on an actor resumes there directly.
            await withCheckedContinuation { place in
                let mustWait = lock.withLock {
                    guard share.isWaiting(consumer) else { return false }
                    places[consumer] = place
                    return true
                }
                if !mustWait { place.resume() }
            }
        } onCancel: {
            let place = change {
                share.forget(consumer)
                return places.removeValue(forKey: consumer)
            }
            place?.resume()
        }
        return true
    }

    /// Changes the shared state, then wakes the called parties and starts or ends the pump.
    @inline(__always)
    func change<Result>(_ body: () -> Result) -> Result {
        let (result, woken, oldPump) = lock.withLock { () -> (Result, [CheckedContinuation<Void, Never>], Task<Void, Never>?) in
            let result = body()
            let calls = share.takeCalls()
            if calls.isEmpty, share.pump == pump?.consumer { return (result, [], nil) }
            return (result, calls.compactMap { places.removeValue(forKey: $0) }, changePump())
        }
        for place in woken { place.resume() }
        oldPump?.cancel()
        return result
    }

    /// Replaces the pump; returns the old pump's task, to be cancelled without the lock.
    private func changePump() -> Task<Void, Never>? {
        guard share.pump != pump?.consumer else { return nil }
        defer {
            // SAFETY: kept in `pump`, and cancelled with the last consumer that needs it, or at the end.
            pump = share.pump.map { consumer in (consumer, Task { await self.runPump(consumer) }) }
        }
        return pump?.task
    }
}

/// Reading: one party reads for all.
extension EventHub {
    /// Waits for the next event on behalf of the reader; returns nil if the task is cancelled first.
    func read(isolation actor: isolated (any Actor)? = #isolation) async -> WebSocketEvent? {
        while true {
            guard let (connection, messages) = current else {
                switch await session.nextSource() {
                case .event(let event): return event
                case .connection(let next): current = (next, MessageTaker(next))
                case nil: return nil
                }
                continue
            }
            var loss: TransportError?
            do throws(TransportError) {
                if let message = try await messages.next() { return .message(message) }
            } catch {
                // A cancellation of this task does not end the connection.
                if error.code == .cancelled { return nil }
                loss = error
            }
            // The session reports how the connection ended. Its pending requests fail here, because no answer can come any more.
            current = nil
            fail(requestsOn: connection, loss)
            await session.drained(connection)
        }
    }

    /// Delivers an event to all consumers; returns true if its reader should get it at once.
    func deliver(_ event: WebSocketEvent, by consumer: Share.Party) -> Bool {
        switch event {
        case .message(let message):
            let isAnswer = claim(message)
            var lanes: [any StreamLane] = []
            let isNext = change {
                lanes = isAnswer ? [] : self.lanes
                return share.deliver(event, isAnswer ? .answer : .message, by: consumer, staysReader: !lanes.isEmpty)
            }
            if !lanes.isEmpty { offer(message, to: lanes, by: consumer) }
            return isNext
        case .closed(let closure):
            let lanes = change {
                share.finish(with: event)
                var error = TransportError(.closed, "the socket was closed before the answer came", underlying: closure.error)
                error.record = closure.record
                requests.fail(with: WebSocketError(error))
                return self.lanes
            }
            for lane in lanes { lane.finish(closure.result) }
            return false
        default: return change { share.deliver(event, .news, by: consumer) }
        }
    }

    /// Reads for all, while there is a consumer that must not hold up reading.
    func runPump(_ consumer: Share.Party) async {
        while true {
            switch change({ share.pump == consumer ? share.askToRead(consumer) : .over }) {
            case .read:
                if lend(by: consumer) { continue }
                guard let event = await read() else { return change { share.forget(consumer) } }
                _ = deliver(event, by: consumer)
            case .wait: if await !called(consumer) { return change { share.forget(consumer) } }
            case .over, .event, .missed: return
            }
        }
    }
}

/// Requests and listeners, which wait for certain messages only.
extension EventHub {
    /// Returns an id that no other request of this socket has.
    func newRequestID() -> UInt64 {
        change {
            lastRequestID += 1
            return lastRequestID
        }
    }

    /// Registers a request that is sent next on this connection and whose answer matches the pattern.
    func expect(_ pattern: RequestTable.Pattern, on connection: WebSocketConnection) throws(WebSocketError) -> Share.Party {
        let consumer = change {
            let consumer = share.newConsumer()
            return requests.add(consumer, pattern, on: ObjectIdentifier(connection.transport)) ? consumer : nil
        }
        guard let consumer else { throw WebSocketError(TransportError(.busy, "too many requests are pending")) }
        return consumer
    }

    /// Removes a request.
    func forget(_ request: Share.Party) {
        change {
            requests.remove(request)
            share.forget(request)
        }
    }

    /// Waits for the answer, and reads if no other party does.
    func answer(to request: Share.Party) async -> RequestTable.Outcome {
        while true {
            let (outcome, turn) = change { () -> (RequestTable.Outcome?, Share.Turn) in
                if let outcome = requests.outcome(of: request) { return (outcome, .over) }
                return (nil, share.askToRead(request))
            }
            if let outcome { return outcome }
            switch turn {
            case .read:
                // The task is checked here, because a read of a ready message does not notice a cancellation.
                guard !Task.isCancelled, let event = await read() else { return .failure(.cancelledRequest) }
                _ = deliver(event, by: request)
            case .wait: if await !called(request) { return .failure(.cancelledRequest) }
            case .over, .event, .missed: return .failure(await session.closedError)
            }
        }
    }

    /// Finds the request that a message answers; the app's code for that does not run under the lock.
    func claim(_ message: Message) -> Bool {
        let (correlations, matchers, listeners) = lock.withLock { (requests.correlations, requests.matchers, requests.listeners) }
        for correlation in correlations {
            if let key = correlation.read(message), settle({ requests.answer(key, of: correlation, with: message) }) { return true }
        }
        for matcher in matchers where matcher.matches(message) {
            if settle({ requests.answer(matcher.request, with: message) }) { return true }
        }
        // All listeners see the message: two outboxes may understand the same answer.
        return listeners.reduce(false) { $1.matches(message) || $0 }
    }

    // MARK: - Listeners

    /// Shows every message to `takes`; a message that it takes goes to the consumers of all events as an answer, and nowhere else.
    func listen(_ listener: Share.Party, _ takes: @escaping @Sendable (Message) -> Bool) {
        change { requests.listen(listener, takes) }
    }

    func newListener() -> Share.Party { change { share.newConsumer() } }

    func stopListening(_ listener: Share.Party) {
        change {
            requests.stopListening(listener)
            share.forget(listener)
        }
    }

    /// Ends a listener's turn without reading or waiting, even if it was called to read; it will ask again.
    func pass(_ listener: Share.Party) { change { share.forget(listener) } }

    /// Waits for the next event, and reads it if no other party does; returns false after a cancellation or the end.
    ///
    /// A listener that does not ask again calls ``pass(_:)``.
    func readOnce(for listener: Share.Party) async -> Bool {
        switch change({ share.askToRead(listener) }) {
        case .read:
            guard let event = await read() else { return false }
            _ = deliver(event, by: listener)
            return true
        case .wait: return await called(listener)
        case .over, .event, .missed: return false
        }
    }

    private func settle(_ answer: () -> Share.Party?) -> Bool {
        change {
            guard let request = answer() else { return false }
            share.call(request)
            return true
        }
    }

    func fail(requestsOn connection: WebSocketConnection, _ loss: TransportError?) {
        change {
            var error = loss ?? TransportError(.closed, "the connection was closed before the answer came")
            error.record = error.record ?? connection.closeRecord
            for request in requests.fail(on: ObjectIdentifier(connection.transport), with: WebSocketError(error)) { share.call(request) }
        }
    }
}

extension WebSocketError {
    static let cancelledRequest = WebSocketError(TransportError(.cancelled, "the wait for an answer was cancelled"))
}
