import MachineCore
import StreamCore

/// What happens to values that arrive while the consumer of a typed stream is busy; see <doc:Streams>.
///
/// Each delivery keeps a bounded number of values, and counts the others in ``WebSocketStream/counts``. All except
/// ``everyMessage(capacity:)`` hold up no other consumer: the socket continues to read.
///
/// ```swift
/// for try await ticks in socket.batches(of: Tick.self, delivery: .latest { $0.symbol }.atMost(perSecond: 60)) { redraw(ticks) }
/// ```
public struct StreamDelivery<Value: Sendable>: Sendable {
    enum Buffering: Sendable {
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
    var keeping: Buffering
    var paces: [Pace] = []

    /// Loses nothing: while this many values wait, the socket stops reading, and in the end the peer has to wait.
    public static func everyMessage(capacity: Int = 64) -> Self { Self(keeping: .every(capacity: max(capacity, 1))) }

    /// Keeps only the newest value; a value that a newer one replaced counts as conflated.
    public static var latest: Self { Self(keeping: .latest(unless: nil)) }

    /// Keeps this many newest values; a value that gave way counts as dropped.
    public static func newest(_ limit: Int) -> Self { Self(keeping: .newest(limit: max(limit, 1))) }

    /// Keeps the newest value of each key, in the order in which the keys first changed after the consumer last got them.
    ///
    /// So the consumer never gets an older value of a key after a newer one, and a key that changes all the time delays no other key.
    ///
    /// - Parameters:
    ///   - limit: The maximum number of waiting keys. One more displaces the key that has waited longest, which counts as dropped.
    ///   - key: Returns the key of a value. It must be quick, because the stream is locked, and must not ask the stream for its counts.
    public static func latest<Key: Hashable & Sendable>(limit: Int = 10_000, by key: @escaping @Sendable (Value) -> Key) -> Self {
        Self(keeping: .byKey { LatestByKey(limit: limit, by: key) })
    }

    /// Keeps the newest message of each value of a field and decodes it on delivery, so conflated messages are never decoded.
    ///
    /// For JSON, MessagePack and CBOR, as the codec's ``MessageCodec/name`` says. All messages without the field count as having the
    /// same value.
    ///
    /// - Parameters:
    ///   - path: The path of the field: keys from the outside in.
    ///   - limit: The maximum number of waiting keys. One more displaces the key that has waited longest, which counts as dropped.
    public static func latest(byField path: String..., limit: Int = 10_000) -> Self {
        Self(keeping: .byField(path: path, limit: limit))
    }

    /// Delivers the newest value at the end of each interval in which one arrived.
    ///
    /// The intervals begin with the first value.
    public static func sampled(every interval: Duration) -> Self {
        Self(keeping: .latest(unless: nil), paces: [.sampled(every: interval)])
    }

    /// Returns the same delivery limited to this many per second: the first at once, and always the newest value.
    ///
    /// The limit counts what the consumer gets at a time: single values of a stream, but whole batches of
    /// ``WebSocket/batches(of:where:delivery:upTo:within:)``, which suit a screen.
    public func atMost(perSecond count: Int) -> Self {
        var paced = self
        paced.paces.append(.atMost(perSecond: count))
        return paced
    }
}

extension StreamDelivery where Value: Equatable {
    /// Delivers the newest value at the end of each interval in which one arrived, unless it equals the last one delivered.
    ///
    /// The intervals begin with the first value.
    public static func sampled(every interval: Duration) -> Self {
        Self(keeping: .latest(unless: ==), paces: [.sampled(every: interval)])
    }
}

extension StreamDelivery {
    /// Returns the buffer for decoded values; nil if messages are kept undecoded.
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

extension StreamDelivery {
    /// The buffer for values that are no messages, and whether it loses none.
    var ownBuffer: (buffer: any DeliveryBuffer<Value, Value>, isLossless: Bool) {
        guard let buffer = buffer() else { return (EveryValue(capacity: Self.fieldlessCapacity), true) }
        return if case .every = keeping { (buffer, true) } else { (buffer, false) }
    }

    /// The capacity, if values that are no messages are all kept and delivered at once; nil for any other delivery.
    @usableFromInline package var ownCapacity: Int? {
        guard paces.isEmpty else { return nil }
        return switch keeping {
        case .every(let capacity): capacity
        case .byField: Self.fieldlessCapacity
        case .newest, .latest, .byKey: nil
        }
    }

    /// The capacity for values that have no fields, of a delivery by a field.
    private static var fieldlessCapacity: Int { 64 }
}

extension DeliveryBuffer {
    /// Returns a buffer that delivers batches.
    func batched(upTo limit: Int, within window: Duration) -> any DeliveryBuffer<Value, [Output]> {
        Batched(self, upTo: limit, within: window)
    }

    /// Returns a buffer that delivers at these paces, with its type erased.
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
