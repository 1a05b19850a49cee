import Metrics
public import SessionCore
public import StreamCore

/// A collector that sends many values in one message; see ``WebSocket/telemetry(of:_:)``.
///
/// Recording never waits: values collect until a batch is due, and while there is no connection, up to the capacity of the policy.
/// At most one batch is given to the socket at a time, so other messages overtake all values that wait here. If a connection is
/// lost after it took values, these values are not sent again and count as uncertain. Every other value is sent once and in order, or
/// counts as sampled, dropped or unencodable.
///
/// It keeps its socket alive. When it is released, it closes as ``close(within:)`` does, without waiting.
public final class Telemetry<Value: Encodable & Sendable>: Sendable {
    private let socket: WebSocket
    private let queue: TelemetryQueue<Value>

    init(_ socket: WebSocket, _ options: TelemetryOptions) {
        self.socket = socket
        queue = TelemetryQueue(socket.session, socket.codec, options)
    }

    deinit { queue.close() }

    /// Takes a value from any task or thread, and returns at once; after the end the value counts as dropped.
    public func record(_ value: Value) { queue.record(value) }

    /// The counts of all values so far.
    public var counts: TelemetryCounts { queue.counts }

    /// The share of values kept at present: 1 unless the link is too slow, see ``TelemetryOptions/adapts``.
    public var keptShare: Double { queue.share.fraction }

    /// Sends the waiting values now, even if their batch is neither full nor old enough.
    ///
    /// - Parameter limit: The time limit; nil: wait until a connection has taken them.
    /// - Returns: Whether no value recorded before waits any more, see ``counts`` for the outcomes; false after the time limit or a
    ///   cancellation, by which no value is lost.
    @discardableResult public func flush(within limit: Duration? = nil) async -> Bool { await queue.flush(within: limit) }

    /// Accepts no more values, and sends the waiting ones.
    ///
    /// - Parameter limit: The time limit; nil: wait until a connection has taken them.
    /// - Returns: As ``flush(within:)``.
    @discardableResult public func close(within limit: Duration? = nil) async -> Bool {
        queue.close()
        return await queue.flush(within: limit)
    }
}

extension WebSocket {
    /// Creates a collector that sends many values in one message, for example measurements, logs or positions.
    ///
    /// ```swift
    /// let readings = socket.telemetry(of: Reading.self) { telemetry in
    ///     telemetry.batch = BatchPolicy(count: 200, bytes: 16 << 10, age: .seconds(1))
    ///     telemetry.adapts = AdaptiveRatePolicy()
    /// }
    /// ```
    /// Each message is an array of values encoded by ``WebSocketOptions/codec``. Waiting values are sent before ``close(code:reason:)``
    /// closes the connection, and when the app goes to the background.
    public func telemetry<Value: Encodable & Sendable>(
        of type: Value.Type = Value.self, _ configure: (inout TelemetryOptions) -> Void = { _ in }
    ) -> Telemetry<Value> {
        var options = TelemetryOptions()
        configure(&options)
        return Telemetry(self, options)
    }

    /// Creates a sender for at most one value of each key per interval, each in its own message, for example cursor moves or sliders.
    ///
    /// - Parameters:
    ///   - type: The type of the values.
    ///   - interval: The minimum time between two values of a key.
    ///   - edges: Whether to send the first value of a burst at once, the last one at the end of the interval, or both.
    ///   - key: Returns the key of a value.
    ///   - configure: Changes the default options.
    public func sender<Key: Hashable & Sendable, Value: Encodable & Sendable>(
        of type: Value.Type, throttle interval: Duration, edges: PacedEdges = .both, by key: @escaping @Sendable (Value) -> Key,
        _ configure: (inout PacedOptions) -> Void = { _ in }
    ) -> PacedSender<Value> {
        var options = PacedOptions()
        configure(&options)
        let throttle = KeyedThrottle<Key, Value>(interval, edges: edges, keyLimit: options.keyLimit)
        return PacedSender(self, PacedQueue(self, .throttle(throttle), options, by: key))
    }

    /// Creates a throttled sender for values that all have the same key.
    public func sender<Value: Encodable & Sendable>(
        of type: Value.Type, throttle interval: Duration, edges: PacedEdges = .both, _ configure: (inout PacedOptions) -> Void = { _ in }
    ) -> PacedSender<Value> {
        sender(of: type, throttle: interval, edges: edges, by: { _ in true }, configure)
    }

    /// Creates a sender for the last value of a burst, sent when its key has been quiet for a while, for example for typing or searching.
    ///
    /// - Parameters:
    ///   - type: The type of the values.
    ///   - quiet: How long a key must have no new value.
    ///   - longestWait: How long a change may wait at most; nil: until the key is quiet.
    ///   - edges: Whether to send the first value of a burst at once, the last one when the key is quiet, or both.
    ///   - key: Returns the key of a value.
    ///   - configure: Changes the default options.
    public func sender<Key: Hashable & Sendable, Value: Encodable & Sendable>(
        of type: Value.Type, debounce quiet: Duration, longestWait: Duration? = nil, edges: PacedEdges = .trailing,
        by key: @escaping @Sendable (Value) -> Key, _ configure: (inout PacedOptions) -> Void = { _ in }
    ) -> PacedSender<Value> {
        var options = PacedOptions()
        configure(&options)
        let debounce = KeyedDebounce<Key, Value>(quiet, longestWait: longestWait, edges: edges, keyLimit: options.keyLimit)
        return PacedSender(self, PacedQueue(self, .debounce(debounce), options, by: key))
    }

    /// Creates a debounced sender for values that all have the same key.
    public func sender<Value: Encodable & Sendable>(
        of type: Value.Type, debounce quiet: Duration, longestWait: Duration? = nil, edges: PacedEdges = .trailing,
        _ configure: (inout PacedOptions) -> Void = { _ in }
    ) -> PacedSender<Value> {
        sender(of: type, debounce: quiet, longestWait: longestWait, edges: edges, by: { _ in true }, configure)
    }
}

/// The options of telemetry: how values are collected and thinned out; see ``WebSocket/telemetry(of:_:)``.
public struct TelemetryOptions: Sendable {
    /// When a batch is sent, and how many values may wait.
    public var batch = BatchPolicy()
    /// When values are thinned out because the link is too slow; nil: never, and when the buffer is full the oldest value gives way.
    public var adapts: AdaptiveRatePolicy?
    /// The lane of the batches in the socket's send queue; by default behind all other messages.
    public var lane = Lane.bulk
    /// How long the socket's close, or the app's move to the background, waits for held values; by default a second.
    public var flushTimeout = Duration.seconds(1)
    /// Called with the error ``TransportError/Code/codec`` for every value that could not be encoded.
    ///
    /// The value is counted and left out; the rest of its batch is sent. It is called on any thread and must not block.
    public var onFailure: (@Sendable (WebSocketError) -> Void)?

    /// Creates the default options.
    public init() {}
}

/// The telemetry metrics of all sockets of a process together.
struct TelemetryMeters: Sendable {
    private let recorded, sent, sampled, dropped: Counter
    private let keptShare: Meter

    init(_ factory: any MetricsFactory) {
        func counter(_ name: String) -> Counter { Counter(label: "holdfast_client_telemetry_" + name, factory: factory) }
        (recorded, sent) = (counter("recorded"), counter("sent"))
        (sampled, dropped) = (counter("sampled"), counter("dropped"))
        keptShare = Meter(label: "holdfast_client_telemetry_kept_share", factory: factory)
    }

    /// Adds the difference between two counts.
    func add(_ new: TelemetryCounts, since old: TelemetryCounts) {
        for (counter, news) in [
            (recorded, new.recorded - old.recorded), (sent, new.sent - old.sent), (sampled, new.sampled - old.sampled),
            (dropped, new.dropped - old.dropped),
        ] where news > 0 { counter.increment(by: Int64(news)) }
    }

    func keeps(_ share: SampleShare) { keptShare.set(share.fraction) }
}
