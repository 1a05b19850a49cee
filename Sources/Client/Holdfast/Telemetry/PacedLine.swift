import MachineCore
public import SessionCore
public import StreamCore
import WebSocketRuntime

/// Sends the values that matter of many: what ``WebSocket/sender(of:throttle:edges:by:_:)`` and
/// ``WebSocket/sender(of:debounce:longestWait:edges:by:_:)`` give.
///
/// Sending never waits. One value at a time is handed to the socket, and while the link takes no more, or is not there, only the newest value
/// of each key waits. It keeps its socket alive. When it is released what waits is sent at once.
public final class PacedSender<Value: Encodable & Sendable>: Sendable {
    private let socket: WebSocket
    private let line: any PacedInlet<Value>

    init(_ socket: WebSocket, _ line: any PacedInlet<Value>) { (self.socket, self.line) = (socket, line) }

    deinit { line.close() }

    /// Takes a value, from any task or thread, and returns at once; after the end it is counted as dropped.
    public func send(_ value: Value) { line.send(value) }

    /// What became of all values so far; those for which newer ones were sent are the sampled ones.
    public var counts: TelemetryCounts { line.counts }

    /// Sends what waits now.
    ///
    /// - Parameter limit: How long to wait; nil: until there is a connection, and that has taken it.
    /// - Returns: Whether nothing waits any more; false if that took too long or the task was cancelled, and nothing is lost by that.
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

/// How a ``PacedSender`` sends.
public struct PacedOptions: Sendable {
    /// The most keys that are kept at once; by default 1000.
    ///
    /// One too many lets the value of another be sent early; while the link takes nothing, the key that has waited longest gives way.
    public var keyLimit = 1000
    /// Where the values stand in the socket's send queue.
    public var lane = Lane.normal
    /// How long closing the socket, or the app's leaving, waits for what is still held; by default a second.
    public var farewell = Duration.seconds(1)
    /// Hears of every value that could not be encoded, as ``TransportError/Code/codec``: it is counted and left out.
    ///
    /// Called on any thread, must not block.
    public var onFailure: (@Sendable (WebSocketError) -> Void)?

    /// The defaults.
    public init() {}
}

/// What decides when a value of a key is sent.
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

    /// Applies an input; nil: time has passed.
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

/// A paced line, whatever its keys are.
protocol PacedInlet<Value>: HeldSender {
    associatedtype Value
    var counts: TelemetryCounts { get }
    func send(_ value: Value)
    func flush(within limit: Duration?) async -> Bool
}

/// Sends what a pacer lets pass, one value at a time; while the link does not keep up, only the newest of each key waits.
final class PacedLine<Key: Hashable & Sendable, Value: Encodable & Sendable>: PacedInlet {
    private struct State {
        var pacer: Pacer<Key, Value>
        /// The newest values that wait for the link, and their keys in the order of the first change.
        var outgoing: [Key: Value] = [:]
        var order: [Key] = []
        var isSending = false
        var isClosed = false
        var counts = TelemetryCounts()
        /// Values that gave way while they waited for the link.
        var conflated = 0
    }
    private let options: PacedOptions
    private let key: @Sendable (Value) -> Key
    private let courier: Courier
    private let encoding: BatchEncoding
    private let timer: DeadlineTimer
    private let changes = Changes()
    private let state: LockedValue<State>

    init(
        _ socket: WebSocket, _ pacer: Pacer<Key, Value>, _ options: PacedOptions, by key: @escaping @Sendable (Value) -> Key
    ) {
        (self.options, self.key) = (options, key)
        (courier, timer) = (Courier(session: socket.session, lane: options.lane), DeadlineTimer(socket.session.time))
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

    /// Waits until nothing waits; false if that takes too long or the task is cancelled.
    func flush(within limit: Duration?) async -> Bool {
        pace(.flush)
        if isSettled { return true }
        return await courier.wait(limit) { [self] in
            while true {
                let version = changes.version
                if isSettled { return true }
                if Task.isCancelled { return false }
                await changes.next(after: version)
            }
        }
    }

    private var isSettled: Bool { state.withLockedValue { !$0.isSending && $0.order.isEmpty } }

    // MARK: - What happens to the session

    func sayFarewell() async { _ = await flush(within: options.farewell) }

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
        let now = Moment(courier.now)
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
        // SAFETY: ends when nothing waits, at the latest with the session.
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
        while let value = next(isOver: !(await courier.ready())) {
            var outcome: Courier.Outcome?
            if let message = encoding.message(of: value) { outcome = await courier.carry(message) }
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

    /// What to send next; after nil another task begins with whatever comes.
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
        courier.session.held.remove(self)
    }
}
