import WebSocketCore
import WebSocketRuntime

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
