import MachineCore
import StreamCore

/// What becomes of values that come while the consumer of a typed stream is busy; see <doc:Streams>.
///
/// Each keeps a bounded number of values, and tells in ``WebSocketStream/counts`` what it did with the others. All but
/// ``everyMessage(capacity:)`` hold up nobody: the socket reads on, for the other consumers too.
///
/// ```swift
/// for try await ticks in socket.batches(of: Tick.self, delivery: .latest { $0.symbol }.atMost(perSecond: 60)) { redraw(ticks) }
/// ```
public struct StreamDelivery<Value: Sendable>: Sendable {
    enum Keeping: Sendable {
        case every(capacity: Int)
        case newest(limit: Int)
        case latest(unless: LatestValue<Value>.Comparison?)
        case byKey(@Sendable () -> any DeliveryBuffer<Value, Value>)
        case byField(path: [String], limit: Int)
    }
    enum Pace: Hashable, Sendable {
        case atMost(perSecond: Int)
        case sampled(every: Duration)
    }
    var keeping: Keeping
    var paces: [Pace] = []

    /// Nothing is lost: while so many values wait, nobody reads, and in the end the peer has to wait.
    public static func everyMessage(capacity: Int = 64) -> Self { Self(keeping: .every(capacity: max(capacity, 1))) }

    /// Only the newest value waits; one that a newer one replaced counts as conflated.
    public static var latest: Self { Self(keeping: .latest(unless: nil)) }

    /// The newest so many values wait; one that gave way counts as dropped.
    public static func newest(_ limit: Int) -> Self { Self(keeping: .newest(limit: max(limit, 1))) }

    /// The newest value of each key waits, in the order in which the keys first changed since the consumer got them.
    ///
    /// So what is shown of a key is never older than what was shown of it, and a key that changes all the time holds up no other.
    ///
    /// - Parameters:
    ///   - limit: How many keys may wait; for one more the key that has waited longest gives way, and counts as dropped.
    ///   - key: Tells what a value is of, at once: it is called while the stream is locked, and must not ask the stream for its counts.
    public static func latest<Key: Hashable & Sendable>(limit: Int = 10_000, by key: @escaping @Sendable (Value) -> Key) -> Self {
        Self(keeping: .byKey { LatestByKey(limit: limit, by: key) })
    }

    /// The newest message of each value of a field waits, and is decoded when the consumer takes it: what is conflated never is.
    ///
    /// For JSON, MessagePack and CBOR, as the codec's ``MessageCodec/name`` says. Messages without the field count as having one and the
    /// same value.
    ///
    /// - Parameters:
    ///   - path: Where the field stands: keys from the outside in.
    ///   - limit: How many keys may wait; for one more the key that has waited longest gives way, and counts as dropped.
    public static func latest(byField path: String..., limit: Int = 10_000) -> Self {
        Self(keeping: .byField(path: path, limit: limit))
    }

    /// The newest value, at the end of each interval in which one came.
    ///
    /// The intervals begin with the first value.
    public static func sampled(every interval: Duration) -> Self {
        Self(keeping: .latest(unless: nil), paces: [.sampled(every: interval)])
    }

    /// The same, with so many deliveries in any second at most: the first at once, and what is newest always.
    ///
    /// It is what the consumer gets in one piece that counts: the values of a stream, but the batches of
    /// ``WebSocket/batches(of:where:delivery:upTo:within:)``, which suit a screen.
    public func atMost(perSecond count: Int) -> Self {
        var paced = self
        paced.paces.append(.atMost(perSecond: count))
        return paced
    }
}

extension StreamDelivery where Value: Equatable {
    /// The newest value, at the end of each interval in which one came, unless the consumer has an equal one already.
    ///
    /// The intervals begin with the first value.
    public static func sampled(every interval: Duration) -> Self {
        Self(keeping: .latest(unless: ==), paces: [.sampled(every: interval)])
    }
}

extension StreamDelivery {
    /// What keeps decoded values; nil where messages are kept as they came.
    func buffer() -> (any DeliveryBuffer<Value, Value>)? {
        switch keeping {
        case .every(let capacity): EveryValue(capacity: capacity)
        case .newest(let limit): NewestValues(limit: limit)
        case .latest(let isSame): LatestValue(unless: isSame)
        case .byKey(let make): make()
        case .byField: nil
        }
    }
}

extension DeliveryBuffer {
    /// The same in batches.
    func batched(upTo limit: Int, within window: Duration) -> any DeliveryBuffer<Value, [Output]> {
        Batched(self, upTo: limit, within: window)
    }

    /// The same at a pace, and as if of unknown kind.
    func paced<Element>(by paces: [StreamDelivery<Element>.Pace]) -> any DeliveryBuffer<Value, Output> {
        var result: any DeliveryBuffer<Value, Output> = self
        for pace in paces { result = Self.paced(result, by: pace) }
        return result
    }

    private static func paced<Element>(
        _ buffer: some DeliveryBuffer<Value, Output>, by pace: StreamDelivery<Element>.Pace
    ) -> any DeliveryBuffer<Value, Output> {
        switch pace {
        case .atMost(let count): Paced(buffer, perSecond: count)
        case .sampled(let interval): Sampled(buffer, every: interval)
        }
    }
}
