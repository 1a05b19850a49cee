public import MachineCore

/// Lets at most one value of each key pass per interval: cursor moves, sliders.
///
/// With a trailing edge the newest value that did not pass is sent when the interval is over, so that a burst always ends with its last
/// value. Keys are bounded: one too many ends the interval that would end first, and its value is sent then.
public struct KeyedThrottle<Key: Hashable & Sendable, Value: Sendable>: Machine {
    private let interval: Duration
    private let edges: PacedEdges
    private var windows: KeyedWindows<Key, Value>

    /// A throttle.
    ///
    /// - Parameters:
    ///   - interval: The least time between two values of a key; zero or less: everything passes.
    ///   - edges: Whether the first value of a burst is sent, or the last, or both.
    ///   - keyLimit: The most keys whose intervals run at once.
    public init(_ interval: Duration, edges: PacedEdges = .both, keyLimit: Int = 1000) {
        (self.interval, self.edges, windows) = (interval, edges, KeyedWindows(limit: keyLimit))
    }

    /// How many values gave way to newer ones, or came when none of their key could pass.
    public var superseded: Int { windows.superseded }
    /// How many keys are kept: those of which a value was sent, or waits, less than an interval ago.
    public var keyCount: Int { windows.windows.count }

    /// When an interval is over, at the earliest; nil while none runs.
    public var deadline: Moment? { windows.deadline }

    /// Applies one input and appends what must be done about it, in order.
    public mutating func handle(_ input: PacedInput<Key, Value>, at now: Moment, into effects: inout [PacedEffect<Key, Value>]) {
        wake(at: now, into: &effects)
        switch input {
        case .value(let key, let value): take(value, of: key, at: now, into: &effects)
        case .flush: close(all: true, at: now, into: &effects)
        }
    }

    /// Sends what waited for an interval that is over; calling early or twice is harmless.
    public mutating func wake(at now: Moment, into effects: inout [PacedEffect<Key, Value>]) { close(all: false, at: now, into: &effects) }

    private mutating func take(_ value: Value, of key: Key, at now: Moment, into effects: inout [PacedEffect<Key, Value>]) {
        guard interval > .zero else { return effects.append(.send(key, value)) }
        if windows.windows[key] != nil {
            _ = windows.replace(value, of: key, isKept: edges.hasTrailing, at: now)
            return
        }
        if let early = windows.makeRoom() { effects.append(.send(early.key, early.value)) }
        if edges.hasLeading { effects.append(.send(key, value)) }
        windows.open(key, until: now + interval, pending: edges.hasLeading ? nil : value, at: now)
    }

    private mutating func close(all: Bool, at now: Moment, into effects: inout [PacedEffect<Key, Value>]) {
        let interval = interval
        // What is sent starts the next interval.
        let values = windows.close(all: all, at: now) { $0.pending == nil ? nil : now + interval }
        for (key, value) in values { effects.append(.send(key, value)) }
    }
}

extension KeyedThrottle: Equatable where Value: Equatable {}
extension KeyedThrottle: Hashable where Value: Hashable {}
