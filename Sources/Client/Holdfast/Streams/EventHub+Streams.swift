import WebSocketRuntime
import WebSocketCore

/// Those who get messages as values, pushed by whoever reads.
extension EventHub {
    /// One more consumer of a lane.
    func open<Value: Sendable>(
        _ decoding: MessageDecoding<Value>, for field: StreamLane.Field?, _ makeIntake: (Share.Party) -> any StreamIntake<Value>
    ) -> Share.Party {
        change {
            let (party, rest) = share.subscribeElsewhere()
            let intake = makeIntake(party)
            let lane = lane(of: decoding)
            lane.add(intake, for: field)
            // Nobody knows of it before the lock is released, so nothing newer comes first.
            var outcome = StreamOffer()
            for case .message(let message) in rest { message.withBytes { lane.offer($0.bytes, message.kind, into: &outcome) } }
            if case .closed(let closure) = share.end { intake.finish(closure.result) }
            isHeld[party] = { intake.isHeld }
            hold(party)
            return party
        }
    }

    /// A consumer is gone.
    func leave<Value: Sendable>(_ party: Share.Party, _ decoding: MessageDecoding<Value>, for field: StreamLane.Field?) {
        change {
            isHeld[party] = nil
            let lane = lane(of: decoding)
            lane.remove(party, from: field)
            if lane.isEmpty { lanes.removeAll { $0 === lane } }
            share.leave(party)
        }
    }

    /// A consumer has taken so much that reading may go on.
    func relieve(_ party: Share.Party) { change { hold(party) } }

    /// Gives a message to typed streams, before anybody reads on.
    func offer(_ message: Message, to lanes: [any StreamLane], by reader: Share.Party) {
        var outcome = StreamOffer()
        message.withBytes { bytes in for lane in lanes { lane.offer(bytes.bytes, message.kind, into: &outcome) } }
        for (type, error) in outcome.failures {
            report(.undecodable(UndecodableMessage(message: message, type: type, error: error)))
        }
        change {
            outcome.held.forEach(hold)
            share.release(reader)
        }
    }

    /// Gives the messages at hand to typed streams where they lie, if nobody else wants any; false if it is to be done otherwise.
    func lend(by reader: Share.Party) -> Bool {
        let lanes: [any StreamLane] = lock.withLock { share.isElsewhere && requests.isEmpty ? self.lanes : [] }
        guard !lanes.isEmpty, let messages = current?.messages else { return false }
        var outcome = StreamOffer()
        let hasLent = messages.lendReady { kind, payload in
            for lane in lanes { lane.offer(payload, kind, into: &outcome) }
            // Nobody follows the events who could be told.
            outcome.failures = []
            return outcome.held.isEmpty
        }
        guard hasLent else { return false }
        change {
            outcome.held.forEach(hold)
            share.release(reader)
        }
        return true
    }

    /// Under the lock, where the last word counts: a consumer may have taken some since it was said to be full.
    private func hold(_ party: Share.Party) { share.hold(party, isHeld[party]?() ?? false) }

    private func lane<Value: Sendable>(of decoding: MessageDecoding<Value>) -> TypedStreamLane<Value> {
        let key = StreamLaneKey(decoding)
        if let lane = lanes.first(where: { $0.key == key }) as? TypedStreamLane<Value> { return lane }
        let lane = TypedStreamLane(decoding)
        lanes.append(lane)
        return lane
    }
}

extension Closure {
    /// How sequences of messages end.
    package var result: Result<Void, WebSocketError> { error.map { .failure($0) } ?? .success(()) }
}
