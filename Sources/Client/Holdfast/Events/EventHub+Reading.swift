import WebSocketCore
import WebSocketRuntime

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
