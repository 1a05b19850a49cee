import MachineCore

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
