import MachineCore
import WebSocketRuntime

/// Messages as values, delivered as their consumer needs them; see <doc:Streams>.
///
/// Each loop over one of these sequences is a consumer of its own, as of ``WebSocket/events``. A message that is no such value does
/// not end it: it is told to all who follow ``WebSocket/events`` as ``WebSocketEvent/undecodable(_:)``; to nobody, if nobody does. The
/// sequences end as ``WebSocket/messages`` does, after what still waits was delivered. They fail at once with
/// ``TransportError/Code/invalidConfiguration`` if they are to look into a format that nobody here can.
extension WebSocket {
    /// What the peer sends, as values that ``WebSocketOptions/codec`` makes of the messages.
    ///
    /// A stream of `String`, `Data` or `[UInt8]` has the payloads as they are.
    ///
    /// - Parameters:
    ///   - type: What the messages are.
    ///   - filter: Which messages concern it; nil: all.
    ///   - delivery: What becomes of values that come while the consumer is busy.
    public func stream<Value: Decodable & Sendable>(
        of type: Value.Type, where filter: MessageFilter? = nil, delivery: StreamDelivery<Value> = .everyMessage()
    ) -> WebSocketStream<Value> {
        stream(by: MessageDecoding(codec), where: filter, delivery: delivery)
    }

    /// What the peer sends, as values that a decoding makes of the messages; otherwise as ``stream(of:where:delivery:)``.
    ///
    /// - Parameters:
    ///   - decoding: What makes the values.
    ///   - filter: Which messages concern it; nil: all.
    ///   - delivery: What becomes of values that come while the consumer is busy.
    public func stream<Value: Sendable>(
        by decoding: MessageDecoding<Value>, where filter: MessageFilter? = nil, delivery: StreamDelivery<Value> = .everyMessage()
    ) -> WebSocketStream<Value> {
        WebSocketStream(plan: StreamPlan(self, decoding, filter, delivery))
    }

    /// What the peer sends, as values that ``WebSocketOptions/codec`` makes of the messages, several at a time.
    ///
    /// - Parameters:
    ///   - type: What the messages are.
    ///   - filter: Which messages concern it; nil: all.
    ///   - delivery: What becomes of values that come while the consumer is busy.
    ///   - limit: How many values a batch has at most.
    ///   - window: How long a value waits at most for others to join it; by default for none.
    public func batches<Value: Decodable & Sendable>(
        of type: Value.Type, where filter: MessageFilter? = nil, delivery: StreamDelivery<Value> = .everyMessage(capacity: 1024),
        upTo limit: Int = .max, within window: Duration = .zero
    ) -> WebSocketStreamBatches<Value> {
        batches(by: MessageDecoding(codec), where: filter, delivery: delivery, upTo: limit, within: window)
    }

    /// What the peer sends, as values that a decoding makes of the messages, several at a time.
    ///
    /// - Parameters:
    ///   - decoding: What makes the values.
    ///   - filter: Which messages concern it; nil: all.
    ///   - delivery: What becomes of values that come while the consumer is busy.
    ///   - limit: How many values a batch has at most.
    ///   - window: How long a value waits at most for others to join it; by default for none.
    public func batches<Value: Sendable>(
        by decoding: MessageDecoding<Value>, where filter: MessageFilter? = nil,
        delivery: StreamDelivery<Value> = .everyMessage(capacity: 1024), upTo limit: Int = .max, within window: Duration = .zero
    ) -> WebSocketStreamBatches<Value> {
        WebSocketStreamBatches(plan: StreamPlan(self, decoding, filter, delivery), limit: limit, window: window)
    }
}

extension LiveSession {
    /// The socket's clock.
    nonisolated var time: LinkTime { LinkTime(now: { [instruments] in Moment(instruments.now()) }, pause: sleep) }
}
