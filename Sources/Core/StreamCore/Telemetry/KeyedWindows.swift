package import MachineCore

/// Sends the last value of a burst once its key has been quiet for a while; for typing, searching, resizing.
///
/// With a leading edge, the first value of a burst is sent at once. If a burst does not end, its newest value is sent after the longest
/// wait, counted from the first unsent change. The number of keys is limited: a key beyond the limit ends the burst that would end first,
/// and the value of that burst is sent then.
package struct KeyedDebounce<Key: Hashable & Sendable, Value: Sendable>: Machine {
    private let quiet: Duration
    private let longestWait: Duration?
    private let edges: PacedEdges
    private var windows: KeyedWindows<Key, Value>

    /// Creates a debounce.
    ///
    /// - Parameters:
    ///   - quiet: How long a key must be without new values. Zero or less: every value is sent at once.
    ///   - longestWait: The longest time a change may wait; nil to wait until the key is quiet.
    ///   - edges: Whether the first value of a burst is sent, or the last, or both.
    ///   - keyLimit: The maximum number of keys with a running burst.
    package init(_ quiet: Duration, longestWait: Duration? = nil, edges: PacedEdges = .trailing, keyLimit: Int = 1000) {
        (self.quiet, self.longestWait, self.edges) = (quiet, longestWait, edges)
        windows = KeyedWindows(limit: keyLimit)
    }

    /// The number of values that were replaced by newer ones, or arrived when no value of their key could be sent.
    package var superseded: Int { windows.superseded }
    /// The number of keys with a running burst.
    package var keyCount: Int { windows.windows.count }

    /// The earliest moment at which a burst may end; nil if none runs.
    package var deadline: Moment? { windows.deadline }

    /// Applies one input and appends the resulting effects in order.
    package mutating func handle(_ input: PacedInput<Key, Value>, at now: Moment, into effects: inout [PacedEffect<Key, Value>]) {
        wake(at: now, into: &effects)
        switch input {
        case .value(let key, let value): take(value, of: key, at: now, into: &effects)
        case .flush: close(all: true, at: now, into: &effects)
        }
    }

    /// Sends the values that have waited long enough.
    ///
    /// Early and repeated calls are harmless.
    package mutating func wake(at now: Moment, into effects: inout [PacedEffect<Key, Value>]) { close(all: false, at: now, into: &effects) }

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
        // An interrupted burst continues: its next value is not its first.
        let values = windows.close(all: all, at: now) { $0.lastValueAt + quiet > now ? $0.lastValueAt + quiet : nil }
        for (key, value) in values { effects.append(.send(key, value)) }
    }
}

extension KeyedDebounce: Equatable where Value: Equatable {}
extension KeyedDebounce: Hashable where Value: Hashable {}

/// Sends at most one value of each key per interval; for cursor moves and sliders.
///
/// With a trailing edge, the newest unsent value is sent when the interval is over, so a burst always ends with its last value. The number
/// of keys is limited: a key beyond the limit ends the interval that would end first, and the value of that interval is sent then.
package struct KeyedThrottle<Key: Hashable & Sendable, Value: Sendable>: Machine {
    private let interval: Duration
    private let edges: PacedEdges
    private var windows: KeyedWindows<Key, Value>

    /// Creates a throttle.
    ///
    /// - Parameters:
    ///   - interval: The minimum time between two values of a key. Zero or less: every value is sent at once.
    ///   - edges: Whether the first value of a burst is sent, or the last, or both.
    ///   - keyLimit: The maximum number of keys with a running interval.
    package init(_ interval: Duration, edges: PacedEdges = .both, keyLimit: Int = 1000) {
        (self.interval, self.edges, windows) = (interval, edges, KeyedWindows(limit: keyLimit))
    }

    /// The number of values that were replaced by newer ones, or arrived when no value of their key could be sent.
    package var superseded: Int { windows.superseded }
    /// The number of keys with a running interval.
    package var keyCount: Int { windows.windows.count }

    /// The earliest moment at which an interval ends; nil if none runs.
    package var deadline: Moment? { windows.deadline }

    /// Applies one input and appends the resulting effects in order.
    package mutating func handle(_ input: PacedInput<Key, Value>, at now: Moment, into effects: inout [PacedEffect<Key, Value>]) {
        wake(at: now, into: &effects)
        switch input {
        case .value(let key, let value): take(value, of: key, at: now, into: &effects)
        case .flush: close(all: true, at: now, into: &effects)
        }
    }

    /// Sends the values whose interval is over.
    ///
    /// Early and repeated calls are harmless.
    package mutating func wake(at now: Moment, into effects: inout [PacedEffect<Key, Value>]) { close(all: false, at: now, into: &effects) }

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
        // A sent value starts the next interval.
        let values = windows.close(all: all, at: now) { $0.pending == nil ? nil : now + interval }
        for (key, value) in values { effects.append(.send(key, value)) }
    }
}

extension KeyedThrottle: Equatable where Value: Equatable {}
extension KeyedThrottle: Hashable where Value: Hashable {}

/// The open windows of all keys: how long each key must wait, and the newest value that waits.
struct KeyedWindows<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    struct Window: Sendable {
        /// When it closes.
        var until: Moment
        /// The newest unsent value.
        var pending: Value?
        /// The number of the oldest unsent change.
        ///
        /// The value of the key that changed first is sent first.
        var serial: Int
        /// When the last value arrived.
        var lastValueAt: Moment
        /// The latest moment at which the waiting value must be sent.
        var latest: Moment?
    }
    private let limit: Int
    private(set) var windows: [Key: Window] = [:]
    /// Never later than the earliest end of a window.
    private(set) var deadline: Moment?
    private(set) var superseded = 0
    private var lastSerial = 0

    init(limit: Int) { self.limit = max(limit, 1) }

    /// Opens a window for a key that has none.
    mutating func open(_ key: Key, until: Moment, pending: Value?, latest: Moment? = nil, at now: Moment) {
        lastSerial += 1
        windows[key] = Window(until: until, pending: pending, serial: lastSerial, lastValueAt: now, latest: latest)
        deadline = min(deadline ?? until, until)
    }

    /// Replaces the waiting value in the open window of the key; if `isKept` is false, the value is discarded.
    ///
    /// - Returns: Whether it is the first value that waits there.
    mutating func replace(_ value: Value, of key: Key, isKept: Bool, at now: Moment) -> Bool {
        let isFirst = windows[key]?.pending == nil
        windows[key]?.lastValueAt = now
        if !isFirst || !isKept { superseded += 1 }
        guard isKept else { return false }
        windows[key]?.pending = value
        guard isFirst else { return false }
        lastSerial += 1
        windows[key]?.serial = lastSerial
        return true
    }

    mutating func move(_ key: Key, until: Moment, latest: Moment?) {
        windows[key]?.until = until
        windows[key]?.latest = latest
        deadline = min(deadline ?? until, until)
    }

    /// If the limit is reached, removes the window that closes first and returns its value, to be sent now.
    mutating func makeRoom() -> (key: Key, value: Value)? {
        guard windows.count >= limit, let first = windows.min(by: { ($0.value.until, $0.value.serial) < ($1.value.until, $1.value.serial) })
        else { return nil }
        windows[first.key] = nil
        return first.value.pending.map { (first.key, $0) }
    }

    /// Closes the windows that are due, in order of their end; with `all`, those with a waiting value, in order of their first change.
    ///
    /// - Parameter again: Returns until when the window stays open; nil to close it.
    mutating func close(all: Bool = false, at now: Moment, again: (Window) -> Moment?) -> [(key: Key, value: Value)] {
        guard all || deadline.map({ $0 <= now }) ?? false else { return [] }
        var due = windows.filter { all ? $0.value.pending != nil : $0.value.until <= now }.map { ($0.key, $0.value) }
        due.sort { all ? $0.1.serial < $1.1.serial : ($0.1.until, $0.1.serial) < ($1.1.until, $1.1.serial) }
        var values: [(key: Key, value: Value)] = []
        for (key, window) in due {
            if let pending = window.pending { values.append((key, pending)) }
            if let until = again(window) {
                windows[key]?.until = until
                windows[key]?.pending = nil
                windows[key]?.latest = nil
            } else {
                windows[key] = nil
            }
        }
        deadline = windows.values.lazy.map({ $0.until }).min()
        return values
    }
}

extension KeyedWindows: Equatable where Value: Equatable {}
extension KeyedWindows: Hashable where Value: Hashable {}
extension KeyedWindows.Window: Equatable where Value: Equatable {}
extension KeyedWindows.Window: Hashable where Value: Hashable {}

/// Which values of a burst are sent.
public enum PacedEdges: Hashable, Sendable, CaseIterable {
    /// The first, at once.
    case leading
    /// The last, at the end of the interval.
    case trailing
    /// The first at once, and the last at the end of the interval if it is another value.
    case both

    var hasLeading: Bool { self != .trailing }
    var hasTrailing: Bool { self != .leading }
}

/// An input of `KeyedThrottle` and `KeyedDebounce`.
package enum PacedInput<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// A newer value of the key.
    case value(Key, Value)
    /// Send all waiting values now.
    case flush
}

/// An effect of `KeyedThrottle` and `KeyedDebounce`.
package enum PacedEffect<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// Send this value.
    case send(Key, Value)
}
