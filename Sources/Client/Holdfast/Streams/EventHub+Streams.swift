import WebSocketRuntime
import WebSocketCore

/// Typed streams: the reader pushes messages to their consumers as values.
extension EventHub {
    /// Adds a consumer to a lane.
    func open<Value: Sendable>(
        _ decoding: MessageDecoding<Value>, for field: StreamLane.Field?, _ makeIntake: (Share.Party) -> any StreamIntake<Value>
    ) -> Share.Party {
        change {
            let (consumer, rest) = share.subscribeElsewhere()
            let intake = makeIntake(consumer)
            let lane = lane(of: decoding)
            lane.add(intake, for: field)
            // The consumer is not visible before the lock is released, so no newer message comes first.
            var outcome = StreamOffer()
            for case .message(let message) in rest { message.withBytes { lane.offer($0.bytes, message.kind, into: &outcome) } }
            if case .closed(let closure) = share.end { intake.finish(closure.result) }
            isHeld[consumer] = { intake.isHeld }
            hold(consumer)
            return consumer
        }
    }

    /// Removes a consumer.
    func leave<Value: Sendable>(_ consumer: Share.Party, _ decoding: MessageDecoding<Value>, for field: StreamLane.Field?) {
        change {
            isHeld[consumer] = nil
            let lane = lane(of: decoding)
            lane.remove(consumer, from: field)
            if lane.isEmpty { lanes.removeAll { $0 === lane } }
            share.leave(consumer)
        }
    }

    /// Resumes reading after a consumer has taken enough.
    func relieve(_ consumer: Share.Party) { change { hold(consumer) } }

    /// Gives a message to typed streams, before the next message is read.
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

    /// Lends the ready messages to typed streams without copying, if no other consumer wants them; returns false if that is not possible.
    func lend(by reader: Share.Party) -> Bool {
        let lanes: [any StreamLane] = lock.withLock { share.isElsewhere && requests.isEmpty ? self.lanes : [] }
        guard !lanes.isEmpty, let messages = current?.messages else { return false }
        var outcome = StreamOffer()
        let hasLent = messages.lendReady { kind, payload in
            for lane in lanes { lane.offer(payload, kind, into: &outcome) }
            // There is no consumer of events to report failures to.
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

    /// Asks the consumer again under the lock, because it may have taken values since it was found full.
    private func hold(_ consumer: Share.Party) { share.hold(consumer, isHeld[consumer]?() ?? false) }

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
