import WebSocketRuntime
import WebSocketCore

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
