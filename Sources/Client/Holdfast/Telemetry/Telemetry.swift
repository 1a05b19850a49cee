import Metrics
public import SessionCore
public import StreamCore

/// Values on their way out, many in one message: what ``WebSocket/telemetry(of:_:)`` gives.
///
/// Recording never waits: values collect until a batch is due, and while there is no connection, within the capacity of the policy.
/// At most one batch is handed to the socket at a time, so whatever else is sent overtakes all that waits here. What a
/// connection had taken when it was lost is not sent again and counts as uncertain; every other value leaves once and in order, or is
/// counted as sampled, dropped or unencodable.
///
/// It keeps its socket alive. When it is released it closes as with ``close(within:)``, and nobody waits for that.
public final class Telemetry<Value: Encodable & Sendable>: Sendable {
    private let socket: WebSocket
    private let line: TelemetryLine<Value>

    init(_ socket: WebSocket, _ options: TelemetryOptions) {
        self.socket = socket
        line = TelemetryLine(socket.session, socket.codec, options)
    }

    deinit { line.close() }

    /// Takes a value, from any task or thread, and returns at once; after the end it is counted as dropped.
    public func record(_ value: Value) { line.record(value) }

    /// What became of all values so far.
    public var counts: TelemetryCounts { line.counts }

    /// Which share of the values is kept at present: 1 unless the link does not keep up, see ``TelemetryOptions/adapts``.
    public var keptShare: Double { line.share.fraction }

    /// Sends what waits without waiting for its batch to be full or old enough.
    ///
    /// - Parameter limit: How long to wait; nil: until there is a connection, and that has taken it.
    /// - Returns: Whether all that had been recorded is gone, see ``counts`` for where to; false if that took too long or the task
    ///   was cancelled, and nothing is lost by that.
    @discardableResult public func flush(within limit: Duration? = nil) async -> Bool { await line.flush(within: limit) }

    /// Takes nothing more, and sends what waits.
    ///
    /// - Parameter limit: How long to wait; nil: until there is a connection, and that has taken it.
    /// - Returns: As ``flush(within:)``.
    @discardableResult public func close(within limit: Duration? = nil) async -> Bool {
        line.close()
        return await line.flush(within: limit)
    }
}

extension WebSocket {
    /// Collects values and sends many as one message: measurements, logs, positions.
    ///
    /// ```swift
    /// let readings = socket.telemetry(of: Reading.self) { telemetry in
    ///     telemetry.batch = BatchPolicy(count: 200, bytes: 16 << 10, age: .seconds(1))
    ///     telemetry.adapts = AdaptiveRatePolicy()
    /// }
    /// ```
    /// Each message is what ``WebSocketOptions/codec`` makes of an array of values. What waits leaves before ``close(code:reason:)``
    /// closes the connection, and when the app goes to the background.
    public func telemetry<Value: Encodable & Sendable>(
        of type: Value.Type = Value.self, _ configure: (inout TelemetryOptions) -> Void = { _ in }
    ) -> Telemetry<Value> {
        var options = TelemetryOptions()
        configure(&options)
        return Telemetry(self, options)
    }

    /// Sends at most one value of each key per interval, each as a message of its own: cursor moves, sliders.
    ///
    /// - Parameters:
    ///   - type: What is sent.
    ///   - interval: The least time between two values of a key.
    ///   - edges: Whether the first value of a burst is sent at once, or the last when the interval is over, or both.
    ///   - key: What makes two values belong together.
    ///   - configure: Changes what is to be other than the defaults.
    public func sender<Key: Hashable & Sendable, Value: Encodable & Sendable>(
        of type: Value.Type, throttle interval: Duration, edges: PacedEdges = .both, by key: @escaping @Sendable (Value) -> Key,
        _ configure: (inout PacedOptions) -> Void = { _ in }
    ) -> PacedSender<Value> {
        var options = PacedOptions()
        configure(&options)
        let throttle = KeyedThrottle<Key, Value>(interval, edges: edges, keyLimit: options.keyLimit)
        return PacedSender(self, PacedLine(self, .throttle(throttle), options, by: key))
    }

    /// The same for values that all belong together.
    public func sender<Value: Encodable & Sendable>(
        of type: Value.Type, throttle interval: Duration, edges: PacedEdges = .both, _ configure: (inout PacedOptions) -> Void = { _ in }
    ) -> PacedSender<Value> {
        sender(of: type, throttle: interval, edges: edges, by: { _ in true }, configure)
    }

    /// Sends the last value of a burst when its key has been quiet for a while, each as a message of its own: typing, searching.
    ///
    /// - Parameters:
    ///   - type: What is sent.
    ///   - quiet: How long there must be nothing new of a key.
    ///   - longestWait: How long a change may wait at most; nil: until there is quiet.
    ///   - edges: Whether the first value of a burst is sent at once, or the last when there is quiet, or both.
    ///   - key: What makes two values belong together.
    ///   - configure: Changes what is to be other than the defaults.
    public func sender<Key: Hashable & Sendable, Value: Encodable & Sendable>(
        of type: Value.Type, debounce quiet: Duration, longestWait: Duration? = nil, edges: PacedEdges = .trailing,
        by key: @escaping @Sendable (Value) -> Key, _ configure: (inout PacedOptions) -> Void = { _ in }
    ) -> PacedSender<Value> {
        var options = PacedOptions()
        configure(&options)
        let debounce = KeyedDebounce<Key, Value>(quiet, longestWait: longestWait, edges: edges, keyLimit: options.keyLimit)
        return PacedSender(self, PacedLine(self, .debounce(debounce), options, by: key))
    }

    /// The same for values that all belong together.
    public func sender<Value: Encodable & Sendable>(
        of type: Value.Type, debounce quiet: Duration, longestWait: Duration? = nil, edges: PacedEdges = .trailing,
        _ configure: (inout PacedOptions) -> Void = { _ in }
    ) -> PacedSender<Value> {
        sender(of: type, debounce: quiet, longestWait: longestWait, edges: edges, by: { _ in true }, configure)
    }
}

/// How values are collected, and when there are fewer of them: see ``WebSocket/telemetry(of:_:)``.
public struct TelemetryOptions: Sendable {
    /// When a batch leaves, and how many values may wait for theirs.
    public var batch = BatchPolicy()
    /// When the series is thinned out because the link does not keep up; nil: never, and where there is no room the oldest gives way.
    public var adapts: AdaptiveRatePolicy?
    /// Where batches stand in the socket's send queue; by default behind all else.
    public var lane = Lane.bulk
    /// How long closing the socket, or the app's leaving, waits for what is still held; by default a second.
    public var farewell = Duration.seconds(1)
    /// Hears of every value that could not be encoded, as ``TransportError/Code/codec``: it is counted and left out, and its batch goes on.
    ///
    /// Called on any thread, must not block.
    public var onFailure: (@Sendable (WebSocketError) -> Void)?

    /// The defaults.
    public init() {}
}

/// The metrics of telemetry, of all sockets of a process together.
struct TelemetryMeters: Sendable {
    private let recorded, sent, sampled, dropped: Counter
    private let keptShare: Meter

    init(_ factory: any MetricsFactory) {
        func counter(_ name: String) -> Counter { Counter(label: "holdfast_client_telemetry_" + name, factory: factory) }
        (recorded, sent) = (counter("recorded"), counter("sent"))
        (sampled, dropped) = (counter("sampled"), counter("dropped"))
        keptShare = Meter(label: "holdfast_client_telemetry_kept_share", factory: factory)
    }

    /// Adds what happened since `old`.
    func add(_ new: TelemetryCounts, since old: TelemetryCounts) {
        for (counter, news) in [
            (recorded, new.recorded - old.recorded), (sent, new.sent - old.sent), (sampled, new.sampled - old.sampled),
            (dropped, new.dropped - old.dropped),
        ] where news > 0 { counter.increment(by: Int64(news)) }
    }

    func keeps(_ share: SampleShare) { keptShare.set(share.fraction) }
}
