public import MachineCore

/// Sends the last value of a burst when its key has been quiet for a while: typing, searching, resizing.
///
/// With a leading edge the first value of a burst is sent at once. A burst that does not end sends its newest value after the longest wait,
/// counted from the first change that was not sent. Keys are bounded: one too many ends the burst that would end first, and its
/// value is sent then.
public struct KeyedDebounce<Key: Hashable & Sendable, Value: Sendable>: Machine {
    private let quiet: Duration
    private let longestWait: Duration?
    private let edges: PacedEdges
    private var windows: KeyedWindows<Key, Value>

    /// A debounce.
    ///
    /// - Parameters:
    ///   - quiet: How long there must be nothing new of a key; zero or less: everything passes.
    ///   - longestWait: How long a change may wait at most; nil: until there is quiet.
    ///   - edges: Whether the first value of a burst is sent, or the last, or both.
    ///   - keyLimit: The most keys whose bursts run at once.
    public init(_ quiet: Duration, longestWait: Duration? = nil, edges: PacedEdges = .trailing, keyLimit: Int = 1000) {
        (self.quiet, self.longestWait, self.edges) = (quiet, longestWait, edges)
        windows = KeyedWindows(limit: keyLimit)
    }

    /// How many values gave way to newer ones, or came when none of their key could pass.
    public var superseded: Int { windows.superseded }
    /// How many keys are kept: those whose bursts run.
    public var keyCount: Int { windows.windows.count }

    /// When a burst is over, at the earliest; nil while none runs.
    public var deadline: Moment? { windows.deadline }

    /// Applies one input and appends what must be done about it, in order.
    public mutating func handle(_ input: PacedInput<Key, Value>, at now: Moment, into effects: inout [PacedEffect<Key, Value>]) {
        wake(at: now, into: &effects)
        switch input {
        case .value(let key, let value): take(value, of: key, at: now, into: &effects)
        case .flush: close(all: true, at: now, into: &effects)
        }
    }

    /// Sends what has waited long enough; calling early or twice is harmless.
    public mutating func wake(at now: Moment, into effects: inout [PacedEffect<Key, Value>]) { close(all: false, at: now, into: &effects) }

    private mutating func take(_ value: Value, of key: Key, at now: Moment, into effects: inout [PacedEffect<Key, Value>]) {
        guard quiet > .zero else { return effects.append(.send(key, value)) }
        if windows.windows[key] != nil {
            let isFirst = windows.replace(value, of: key, isKept: edges.hasTrailing, at: now)
            let latest = isFirst ? longestWait.map { now + $0 } : windows.windows[key]?.latest
            return windows.move(key, until: min(now + quiet, latest ?? .distantFuture), latest: latest)
        }
        if let early = windows.makeRoom() { effects.append(.send(early.key, early.value)) }
        if edges.hasLeading {
            effects.append(.send(key, value))
            windows.open(key, until: now + quiet, pending: nil, at: now)
        } else {
            let latest = longestWait.map { now + $0 }
            windows.open(key, until: min(now + quiet, latest ?? .distantFuture), pending: value, latest: latest, at: now)
        }
    }

    private mutating func close(all: Bool, at now: Moment, into effects: inout [PacedEffect<Key, Value>]) {
        let quiet = quiet
        // A burst that was interrupted goes on: its next value is not its first.
        let values = windows.close(all: all, at: now) { $0.lastValueAt + quiet > now ? $0.lastValueAt + quiet : nil }
        for (key, value) in values { effects.append(.send(key, value)) }
    }
}

extension KeyedDebounce: Equatable where Value: Equatable {}
extension KeyedDebounce: Hashable where Value: Hashable {}
