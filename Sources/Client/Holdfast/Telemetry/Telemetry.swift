import MachineCore
import Metrics
public import SessionCore
public import StreamCore
import WebSocketRuntime

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

/// Runs a `Batcher` and an `AdaptiveRate` with the clock of a session, and sends the batches.
///
/// A task runs only while a batch is due or being sent, and a timer only while values wait.
final class TelemetryQueue<Value: Encodable & Sendable>: HeldSender {
    private struct State {
        var batcher: Batcher<Value>
        var rate: AdaptiveRate?
        /// The approximate size of a value in bytes, measured in the last batch.
        var valueSize = 64
        /// The counts that the metrics already have.
        var told = TelemetryCounts()
    }
    private typealias Change = (inout State, Moment, inout [Batcher<Value>.Effect]) -> Void

    private let options: TelemetryOptions
    private let batchSender: BatchSender
    private let encoding: BatchEncoding
    private let meters: TelemetryMeters?
    private let timer: DeadlineTimer
    private let changes = Changes()
    private let state: LockedValue<State>

    init(_ session: LiveSession, _ codec: any MessageCodec, _ options: TelemetryOptions) {
        (self.options, batchSender, timer) = (options, BatchSender(session: session, lane: options.lane), DeadlineTimer(session.time))
        encoding = BatchEncoding(codec: codec, limit: options.batch.bytes, onFailure: options.onFailure)
        meters = session.instruments.meters?.telemetry
        state = LockedValue(State(batcher: Batcher(options.batch), rate: options.adapts.map(AdaptiveRate.init)))
        if options.adapts != nil { meters?.keeps(.all) }
        session.held.add(self)
    }

    var counts: TelemetryCounts { state.withLockedValue({ $0.batcher.counts }) }
    var share: SampleShare { state.withLockedValue({ $0.batcher.share }) }

    func record(_ value: Value) {
        run { state, now, effects in
            state.batcher.handle(.record(value, byteCount: state.valueSize), at: now, into: &effects)
            // Checked here, because while there is no connection no other event may come for a long time.
            if let adapts = options.adapts, state.batcher.waitingBytes > adapts.backlog / 2 { look(&state, now, &effects) }
        }
    }

    /// Waits until all values recorded so far have an outcome; returns false after the time limit or a cancellation.
    func flush(within limit: Duration?) async -> Bool {
        run { $0.batcher.handle(.flush, at: $1, into: &$2) }
        let recorded = counts.recorded
        if isSettled(recorded) { return true }
        return await batchSender.wait(limit) { [self] in
            while true {
                let version = changes.version
                if isSettled(recorded) { return true }
                if Task.isCancelled { return false }
                await changes.next(after: version)
            }
        }
    }

    private func isSettled(_ recorded: Int) -> Bool { state.withLockedValue { $0.batcher.isSettled(through: recorded) } }

    // MARK: - Session events

    func prepareToClose() async { _ = await flush(within: options.flushTimeout) }

    func close() {
        run { $0.batcher.handle(.close, at: $1, into: &$2) }
        leaveIfDone()
    }

    func end() {
        run { $0.batcher.handle(.end, at: $1, into: &$2) }
        timer.cancel()
        notifyMetrics()
        changes.announce()
        leaveIfDone()
    }

    func connected() { adapt(.connected) }

    func roundTrip(_ time: Duration) { adapt(.roundTrip(time)) }

    // MARK: - Steps

    /// Changes the state, and starts to send if a batch is due.
    private func run(_ change: Change) { if apply(change) { begin() } }

    /// Changes the state; returns whether a batch became due.
    private func apply(_ change: Change) -> Bool {
        let now = Moment(batchSender.now)
        var effects: [Batcher<Value>.Effect] = []
        let deadline = state.withLockedValue { state in
            change(&state, now, &effects)
            guard let deadline = state.batcher.deadline else { return state.rate?.deadline }
            return min(deadline, state.rate?.deadline ?? deadline)
        }
        // Only the first value of a batch sets the timer, so the others need no allocation.
        if let deadline, timer.ringsAfter(deadline) { timer.set(deadline) { [weak self] in self?.wake() } }
        return effects.contains { if case .due = $0 { true } else { false } }
    }

    private func wake() {
        run { state, now, effects in
            state.batcher.wake(at: now, into: &effects)
            var orders: [AdaptiveRate.Effect] = []
            state.rate?.wake(at: now, into: &orders)
            if !orders.isEmpty { look(&state, now, &effects) }
        }
    }

    /// Tells the adaptive rate how much waits to be sent, here and in the session's queue.
    private func look(_ state: inout State, _ now: Moment, _ effects: inout [Batcher<Value>.Effect]) {
        adapt(&state, .backlog(state.batcher.waitingBytes + batchSender.session.sendDriver.depth.bytes), now, &effects)
    }

    private func adapt(_ input: AdaptiveRate.Input) {
        guard options.adapts != nil else { return }
        run { state, now, effects in adapt(&state, input, now, &effects) }
    }

    private func adapt(_ state: inout State, _ input: AdaptiveRate.Input, _ now: Moment, _ effects: inout [Batcher<Value>.Effect]) {
        var orders: [AdaptiveRate.Effect] = []
        state.rate?.handle(input, at: now, into: &orders)
        for case .keep(let share) in orders {
            state.batcher.handle(.keep(share), at: now, into: &effects)
            meters?.keeps(share)
        }
    }

    // MARK: - Batches

    private func begin() {
        // SAFETY: ends with the batches that are due, at the latest with the session.
        Task { await handOver() }
    }

    /// Sends the due batches one after another.
    private func handOver() async {
        while await batchSender.ready() {
            guard let values = take() else { break }
            let isNextDue = await carry(values)
            notifyMetrics()
            changes.announce()
            if !isNextDue { break }
        }
        leaveIfDone()
    }

    private func take() -> [Value]? {
        var effects: [Batcher<Value>.Effect] = []
        let now = Moment(batchSender.now)
        state.withLockedValue { $0.batcher.handle(.take, at: now, into: &effects) }
        for case .hand(let values) in effects { return values }
        return nil
    }

    /// Sends one batch; returns whether the next is due.
    private func carry(_ values: [Value]) async -> Bool {
        let batches = encoding.batches(of: values)
        let encoded = batches.reduce(0) { $0 + $1.count }
        let bytes = batches.reduce(0) { $0 + $1.message.byteCount }
        var (sent, uncertain) = (0, 0)
        for (message, count) in batches {
            switch await batchSender.carry(message) {
            case .written: sent += count
            case .unknown: uncertain += count
            case .lost: break
            }
        }
        return apply { state, now, effects in
            if encoded > 0 { state.valueSize = max(bytes / encoded, 1) }
            let unencodable = values.count - encoded
            state.batcher.handle(.finished(sent: sent, uncertain: uncertain, unencodable: unencodable), at: now, into: &effects)
            look(&state, now, &effects)
        }
    }

    private func notifyMetrics() {
        guard let meters else { return }
        let (new, old) = state.withLockedValue { state in
            defer { state.told = state.batcher.counts }
            return (state.batcher.counts, state.told)
        }
        meters.add(new, since: old)
    }

    /// Leaves the session when the line is closed and holds no values.
    private func leaveIfDone() {
        let isDone = state.withLockedValue { $0.batcher.isClosed && $0.batcher.isSettled(through: .max) }
        guard isDone else { return }
        timer.cancel()
        notifyMetrics()
        batchSender.session.held.remove(self)
    }
}
