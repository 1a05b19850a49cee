import MachineCore
public import SessionCore
public import StreamCore
import WebSocketRuntime

/// A sender that sends only some of many values.
///
/// ``WebSocket/sender(of:throttle:edges:by:_:)`` and ``WebSocket/sender(of:debounce:longestWait:edges:by:_:)`` create one.
///
/// Sending never waits. The sender gives one value at a time to the socket. While the link accepts no more, or there is no connection, only
/// the newest value of each key waits. The sender keeps its socket alive. When it is released, it sends the waiting values at once.
public final class PacedSender<Value: Encodable & Sendable>: Sendable {
    private let socket: WebSocket
    private let queue: any PacedInlet<Value>

    init(_ socket: WebSocket, _ queue: any PacedInlet<Value>) { (self.socket, self.queue) = (socket, queue) }

    deinit { queue.close() }

    /// Takes a value from any task or thread, and returns at once; after the end the value counts as dropped.
    public func send(_ value: Value) { queue.send(value) }

    /// The counts of all values so far; values replaced by newer ones count as sampled.
    public var counts: TelemetryCounts { queue.counts }

    /// Sends the waiting values now.
    ///
    /// - Parameter limit: The time limit; nil: wait until a connection has taken them.
    /// - Returns: Whether no value waits any more; false after the time limit or a cancellation, by which no value is lost.
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

/// The options of a ``PacedSender``.
public struct PacedOptions: Sendable {
    /// The maximum number of keys kept at once; by default 1000.
    ///
    /// If there is one key too many, the value of another key is sent early. While the link accepts nothing, the key that has waited longest
    /// gives way.
    public var keyLimit = 1000
    /// The lane of the values in the socket's send queue.
    public var lane = Lane.normal
    /// How long the socket's close, or the app's move to the background, waits for held values; by default a second.
    public var flushTimeout = Duration.seconds(1)
    /// Called with the error ``TransportError/Code/codec`` for every value that could not be encoded; the value is counted and left out.
    ///
    /// It is called on any thread and must not block.
    public var onFailure: (@Sendable (WebSocketError) -> Void)?

    /// Creates the default options.
    public init() {}
}

/// The rules that decide when a value of a key is sent.
enum Pacer<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    case throttle(KeyedThrottle<Key, Value>)
    case debounce(KeyedDebounce<Key, Value>)

    var deadline: Moment? {
        switch self {
        case .throttle(let throttle): throttle.deadline
        case .debounce(let debounce): debounce.deadline
        }
    }

    var superseded: Int {
        switch self {
        case .throttle(let throttle): throttle.superseded
        case .debounce(let debounce): debounce.superseded
        }
    }

    /// Handles an input; nil: time has passed.
    mutating func handle(_ input: PacedInput<Key, Value>?, at now: Moment, into effects: inout [PacedEffect<Key, Value>]) {
        switch self {
        case .throttle(var throttle):
            if let input { throttle.handle(input, at: now, into: &effects) } else { throttle.wake(at: now, into: &effects) }
            self = .throttle(throttle)
        case .debounce(var debounce):
            if let input { debounce.handle(input, at: now, into: &effects) } else { debounce.wake(at: now, into: &effects) }
            self = .debounce(debounce)
        }
    }
}

/// A paced line with any type of key.
protocol PacedInlet<Value>: HeldSender {
    associatedtype Value
    var counts: TelemetryCounts { get }
    func send(_ value: Value)
    func flush(within limit: Duration?) async -> Bool
}

/// Sends the values that a pacer lets pass, one at a time; while the link is too slow, only the newest value of each key waits.
final class PacedQueue<Key: Hashable & Sendable, Value: Encodable & Sendable>: PacedInlet {
    private struct State {
        var pacer: Pacer<Key, Value>
        /// The newest values that wait for the link, and their keys in the order of the first change.
        var outgoing: [Key: Value] = [:]
        var order: [Key] = []
        var isSending = false
        var isClosed = false
        var counts = TelemetryCounts()
        /// The number of values replaced while they waited for the link.
        var conflated = 0
    }
    private let options: PacedOptions
    private let key: @Sendable (Value) -> Key
    private let batchSender: BatchSender
    private let encoding: BatchEncoding
    private let timer: DeadlineTimer
    private let changes = Changes()
    private let state: LockedValue<State>

    init(
        _ socket: WebSocket, _ pacer: Pacer<Key, Value>, _ options: PacedOptions, by key: @escaping @Sendable (Value) -> Key
    ) {
        (self.options, self.key) = (options, key)
        (batchSender, timer) = (BatchSender(session: socket.session, lane: options.lane), DeadlineTimer(socket.session.time))
        encoding = BatchEncoding(codec: socket.codec, limit: .max, onFailure: options.onFailure)
        state = LockedValue(State(pacer: pacer))
        socket.session.held.add(self)
    }

    var counts: TelemetryCounts {
        state.withLockedValue { state in
            var counts = state.counts
            counts.sampled = state.pacer.superseded + state.conflated
            let gone = counts.sent + counts.uncertain + counts.sampled + counts.dropped + counts.unencodable
            counts.waiting = counts.recorded - counts.leaving - gone
            return counts
        }
    }

    func send(_ value: Value) { pace(.value(key(value), value)) }

    /// Waits until no value waits; returns false after the time limit or a cancellation.
    func flush(within limit: Duration?) async -> Bool {
        pace(.flush)
        if isSettled { return true }
        return await batchSender.wait(limit) { [self] in
            while true {
                let version = changes.version
                if isSettled { return true }
                if Task.isCancelled { return false }
                await changes.next(after: version)
            }
        }
    }

    private var isSettled: Bool { state.withLockedValue { !$0.isSending && $0.order.isEmpty } }

    // MARK: - Session events

    func prepareToClose() async { _ = await flush(within: options.flushTimeout) }

    func close() {
        state.withLockedValue { $0.isClosed = true }
        pace(.flush)
        leaveIfDone()
    }

    func end() {
        close()
        timer.cancel()
        state.withLockedValue { state in
            state.counts.dropped += state.order.count
            (state.order, state.outgoing) = ([], [:])
        }
        changes.announce()
        leaveIfDone()
    }

    func connected() {}
    func roundTrip(_ time: Duration) {}

    // MARK: - Steps

    private func pace(_ input: PacedInput<Key, Value>?) {
        let now = Moment(batchSender.now)
        let (deadline, begins) = state.withLockedValue { state -> (Moment?, Bool) in
            if case .value? = input {
                state.counts.recorded += 1
                if state.isClosed {
                    state.counts.dropped += 1
                    return (nil, false)
                }
            }
            var effects: [PacedEffect<Key, Value>] = []
            state.pacer.handle(input, at: now, into: &effects)
            for case .send(let key, let value) in effects { queue(value, of: key, &state) }
            let begins = !state.isSending && !state.order.isEmpty
            if begins { state.isSending = true }
            return (state.pacer.deadline, begins)
        }
        if let deadline { timer.set(deadline) { [weak self] in self?.pace(nil) } }
        // SAFETY: ends when no value waits, at the latest with the session.
        if begins { Task { await drain() } }
    }

    private func queue(_ value: Value, of key: Key, _ state: inout State) {
        if state.outgoing.updateValue(value, forKey: key) != nil { return state.conflated += 1 }
        state.order.append(key)
        guard state.order.count > max(options.keyLimit, 1) else { return }
        state.outgoing[state.order.removeFirst()] = nil
        state.counts.dropped += 1
    }

    private func drain() async {
        while let value = next(isOver: !(await batchSender.ready())) {
            var outcome: BatchSender.Outcome?
            if let message = encoding.message(of: value) { outcome = await batchSender.carry(message) }
            state.withLockedValue { state in
                state.counts.leaving -= 1
                switch outcome {
                case .written: state.counts.sent += 1
                case .unknown: state.counts.uncertain += 1
                case .lost: state.counts.dropped += 1
                case nil: state.counts.unencodable += 1
                }
            }
        }
        changes.announce()
        leaveIfDone()
    }

    /// Returns the next value to send; after nil, a new task starts when another value comes.
    private func next(isOver: Bool) -> Value? {
        state.withLockedValue { state in
            guard !isOver, !state.order.isEmpty else {
                state.isSending = false
                return nil
            }
            state.counts.leaving += 1
            return state.outgoing.removeValue(forKey: state.order.removeFirst())
        }
    }

    private func leaveIfDone() {
        guard state.withLockedValue({ $0.isClosed && !$0.isSending && $0.order.isEmpty }) else { return }
        batchSender.session.held.remove(self)
    }
}
