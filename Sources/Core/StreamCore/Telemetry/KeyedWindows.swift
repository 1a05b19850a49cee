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

/// For each key the time that has to pass before more is sent of it, and the newest value that waits for that.
struct KeyedWindows<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    struct Window: Sendable {
        /// When it closes.
        var until: Moment
        /// The newest value that was not sent.
        var pending: Value?
        /// When the oldest change came that was not sent, as a number: what changed first is sent first.
        var serial: Int
        /// When the last value came.
        var lastValueAt: Moment
        /// When the value that waits was to be sent at the latest.
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

    /// Keeps a value in the open window of its key, in place of the one that waits there; without it if `isKept` is false.
    ///
    /// - Returns: Whether it is the first that waits.
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

    /// What waits for so many keys, if these are the most, gives up the window that closes first: its value is sent now.
    mutating func makeRoom() -> (key: Key, value: Value)? {
        guard windows.count >= limit, let first = windows.min(by: { ($0.value.until, $0.value.serial) < ($1.value.until, $1.value.serial) })
        else { return nil }
        windows[first.key] = nil
        return first.value.pending.map { (first.key, $0) }
    }

    /// Closes the windows whose time has come, in that order, and those of `all`, in the order of their first change.
    ///
    /// - Parameter again: Until when it stays open; nil: it closes.
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
        deadline = windows.values.lazy.map(\.until).min()
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
    /// The last, when it is time.
    case trailing
    /// The first at once, and the last when it is time, if that is another.
    case both

    var hasLeading: Bool { self != .trailing }
    var hasTrailing: Bool { self != .leading }
}

/// What can happen to a ``KeyedThrottle`` and a ``KeyedDebounce``.
public enum PacedInput<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// There is a newer value.
    case value(Key, Value)
    /// What waits is sent now.
    case flush
}

/// What a ``KeyedThrottle`` and a ``KeyedDebounce`` order.
public enum PacedEffect<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// Send this.
    case send(Key, Value)
}
