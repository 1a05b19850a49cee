import WebSocketCore
import WebSocketRuntime

/// Where all consumers of a socket's events meet: the shell around the rules of an ``EventShare``.
///
/// SAFETY: everything is used under the lock, but `current`, which belongs to the one who reads; there is one at a time, by the rules.
final class EventHub: @unchecked Sendable {
    typealias Share = EventShare<WebSocketEvent>

    let session: LiveSession
    let lock = LockedValue<Void>()
    @exclusivity(unchecked) var share = Share()
    @exclusivity(unchecked) var requests: RequestTable
    /// The connection that is read, so that a message costs no turn of the session.
    @exclusivity(unchecked) var current: (connection: WebSocketConnection, messages: MessageTaker)?
    var lastRequestID: UInt64 = 0
    /// Who is given messages as values.
    @exclusivity(unchecked) var lanes: [any StreamLane] = []
    /// Which of them have enough.
    @exclusivity(unchecked) var isHeld: [Share.Party: () -> Bool] = [:]
    private var places: [Share.Party: CheckedContinuation<Void, Never>] = [:]
    private var pump: (party: Share.Party, task: Task<Void, Never>)?

    init(_ session: LiveSession, requestLimit: Int) {
        self.session = session
        requests = RequestTable(limit: requestLimit)
    }

    // MARK: - Consumers

    func subscribe(_ buffering: EventBuffering, _ interest: Share.Interest, reports: Bool) -> Share.Party {
        change { share.subscribe(buffering, interest, reports: reports) }
    }

    func leave(_ party: Share.Party) { change { share.leave(party) } }

    /// Tells the consumers of all events something that is known of a message.
    func report(_ event: WebSocketEvent) { change { share.report(event) } }

    /// What a consumer is to do next; a message at hand is taken at once, under one lock.
    func turn(of party: Share.Party) -> Share.Turn {
        change {
            let turn = share.take(party)
            return readyMessage(for: party, turn) ?? turn
        }
    }

    /// Lends a message at hand to a consumer whose turn it is to read, if it is the only one; otherwise as ``turn(of:)``.
    func borrow<Result>(_ party: Share.Party, _ body: (RawSpan, MessageKind) -> Result) -> (lent: Result?, turn: Share.Turn) {
        let (turn, messages) = change { () -> (Share.Turn, MessageTaker?) in
            let turn = share.take(party)
            if case .read = turn, requests.isEmpty, share.isLone(party) { return (turn, current?.messages) }
            return (readyMessage(for: party, turn) ?? turn, nil)
        }
        // What apps wrote is not run under the lock; whoever reads is alone with the messages without it.
        var lent: Result?
        _ = messages?.lendReady { kind, payload in
            lent = body(payload, kind)
            return false
        }
        if lent != nil { change { share.release(party) } }
        return (lent, turn)
    }

    private func readyMessage(for party: Share.Party, _ turn: Share.Turn) -> Share.Turn? {
        guard case .read = turn, requests.isEmpty, let message = current?.messages.ready() else { return nil }
        // It is its turn, for whoever is told to read has taken everything else.
        _ = share.deliver(.message(message), .message, by: party)
        return .event(.message(message))
    }

    /// Waits for the next event of a consumer who was told what to do first; nil after the last, or when the task is cancelled.
    func next(
        for party: Share.Party, after first: Share.Turn, isolation actor: isolated (any Actor)? = #isolation
    ) async -> WebSocketEvent? {
        var turn = first
        while true {
            switch turn {
            case .event(let event): return event
            case .missed(let count): return .missed(count)
            case .over: return nil
            case .read:
                guard let event = await read() else {
                    leave(party)
                    return nil
                }
                if deliver(event, by: party) { return event }
            case .wait:
                guard await called(party) else {
                    leave(party)
                    return nil
                }
            }
            turn = self.turn(of: party)
        }
    }

    // MARK: - Waiting

    /// Waits until called; false if the task is cancelled.
    func called(_ party: Share.Party, isolation actor: isolated (any Actor)? = #isolation) async -> Bool {
        if Task.isCancelled { return false }
        await withTaskCancellationHandler {
            await withCheckedContinuation { place in
                let mustWait = lock.withLock {
                    guard share.isWaiting(party) else { return false }
                    places[party] = place
                    return true
                }
                if !mustWait { place.resume() }
            }
        } onCancel: {
            let place = change {
                share.forget(party)
                return places.removeValue(forKey: party)
            }
            place?.resume()
        }
        return true
    }

    /// Changes what is shared, then wakes who was called and starts or ends the pump.
    @inline(__always)
    func change<Result>(_ body: () -> Result) -> Result {
        let (result, woken, oldPump) = lock.withLock { () -> (Result, [CheckedContinuation<Void, Never>], Task<Void, Never>?) in
            let result = body()
            let calls = share.takeCalls()
            if calls.isEmpty, share.pump == pump?.party { return (result, [], nil) }
            return (result, calls.compactMap { places.removeValue(forKey: $0) }, changePump())
        }
        for place in woken { place.resume() }
        oldPump?.cancel()
        return result
    }

    /// The pump that is to be cancelled, without the lock.
    private func changePump() -> Task<Void, Never>? {
        guard share.pump != pump?.party else { return nil }
        defer {
            // SAFETY: kept in `pump`, and cancelled with the last consumer that needs it, or at the end.
            pump = share.pump.map { party in (party, Task { await self.runPump(party) }) }
        }
        return pump?.task
    }
}

/// Whoever may read, reads for all.
extension EventHub {
    /// Waits for what comes next, for the one who may read; nil if the task is cancelled before.
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
                // That this task was cancelled is not an end.
                if error.code == .cancelled { return nil }
                loss = error
            }
            // How it ended is the session's to tell; but an answer can come no more.
            current = nil
            fail(requestsOn: connection, loss)
            await session.drained(connection)
        }
    }

    /// Hands on what was read; true if it is its reader's turn to have it.
    func deliver(_ event: WebSocketEvent, by party: Share.Party) -> Bool {
        switch event {
        case .message(let message):
            let isAnswer = claim(message)
            var lanes: [any StreamLane] = []
            let isNext = change {
                lanes = isAnswer ? [] : self.lanes
                return share.deliver(event, isAnswer ? .answer : .message, by: party, staysReader: !lanes.isEmpty)
            }
            if !lanes.isEmpty { offer(message, to: lanes, by: party) }
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
        default: return change { share.deliver(event, .news, by: party) }
        }
    }

    /// Reads for all, as long as there is somebody whom reading must not wait for.
    func runPump(_ party: Share.Party) async {
        while true {
            switch change({ share.pump == party ? share.askToRead(party) : .over }) {
            case .read:
                if lend(by: party) { continue }
                guard let event = await read() else { return change { share.forget(party) } }
                _ = deliver(event, by: party)
            case .wait: if await !called(party) { return change { share.forget(party) } }
            case .over, .event, .missed: return
            }
        }
    }
}

/// Those who wait for some messages only.
extension EventHub {
    /// An id that no other request of this socket has.
    func newRequestID() -> UInt64 {
        change {
            lastRequestID += 1
            return lastRequestID
        }
    }

    /// A request that is sent next on this connection, and whose answer looks so.
    func expect(_ pattern: RequestTable.Pattern, on connection: WebSocketConnection) throws(WebSocketError) -> Share.Party {
        let party = change {
            let party = share.newParty()
            return requests.add(party, pattern, on: ObjectIdentifier(connection.transport)) ? party : nil
        }
        guard let party else { throw WebSocketError(TransportError(.busy, "too many requests wait for their answers")) }
        return party
    }

    /// Whoever made a request waits no more.
    func forget(_ request: Share.Party) {
        change {
            requests.remove(request)
            share.forget(request)
        }
    }

    /// Waits for the answer, and reads if nobody else does.
    func answer(to request: Share.Party) async -> RequestTable.Outcome {
        while true {
            let (outcome, turn) = change { () -> (RequestTable.Outcome?, Share.Turn) in
                if let outcome = requests.outcome(of: request) { return (outcome, .over) }
                return (nil, share.askToRead(request))
            }
            if let outcome { return outcome }
            switch turn {
            case .read:
                // As long as there is something to read, that says nothing of the task.
                guard !Task.isCancelled, let event = await read() else { return .failure(.cancelledRequest) }
                _ = deliver(event, by: request)
            case .wait: if await !called(request) { return .failure(.cancelledRequest) }
            case .over, .event, .missed: return .failure(await session.closedError)
            }
        }
    }

    /// Finds the request that a message answers; what apps wrote for that is not run under the lock.
    func claim(_ message: Message) -> Bool {
        let (correlations, matchers, listeners) = lock.withLock { (requests.correlations, requests.matchers, requests.listeners) }
        for correlation in correlations {
            if let key = correlation.read(message), settle({ requests.answer(key, of: correlation, with: message) }) { return true }
        }
        for matcher in matchers where matcher.matches(message) {
            if settle({ requests.answer(matcher.request, with: message) }) { return true }
        }
        // Each of them: two outboxes may understand the same answer.
        return listeners.reduce(false) { $1.matches(message) || $0 }
    }

    // MARK: - Listeners

    /// Shows every message to `takes`; what it takes is among the events, as an answer is, and given to nobody else.
    func listen(_ listener: Share.Party, _ takes: @escaping @Sendable (Message) -> Bool) {
        change { requests.listen(listener, takes) }
    }

    func newListener() -> Share.Party { change { share.newParty() } }

    func stopListening(_ listener: Share.Party) {
        change {
            requests.stopListening(listener)
            share.forget(listener)
        }
    }

    /// It does not read now, nor wait, though it may have been called to read: it will ask again.
    func pass(_ listener: Share.Party) { change { share.forget(listener) } }

    /// Waits for the next event, and reads it if nobody else does; false if the task is cancelled, or nothing can come any more.
    ///
    /// Whoever does not ask again says ``pass(_:)``.
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
