import MachineCore

/// At most so many updates a second: the first at once, the next when its time has come, each with all that has changed until then.
struct UpdatePace: Hashable, Sendable {
    /// From the start of an update to that of the next; nil: no limit.
    private var interval: Duration?
    /// When the next update may start; nil: at any time.
    private(set) var next: Moment?
    /// Changes of the present update that are still to be taken.
    private var left = 0
    private var isStarting = false

    /// Changes the limit, from the next update on; 0 takes it away.
    mutating func set(perSecond rate: Int64) {
        interval = rate > 0 ? .seconds(1) / rate : nil
        if interval == nil { next = nil }
    }

    /// Starts an update of all changes there are, if there is none and its time has come.
    mutating func open(with count: Int, at now: Moment) {
        guard left == 0, next.map({ now >= $0 }) ?? true else { return }
        (left, isStarting) = (count, true)
    }

    /// Takes one change of the update; false if there are no more.
    mutating func take() -> Bool {
        guard left > 0 else { return false }
        left -= 1
        return true
    }

    /// A message of the update went out: the first one starts its time.
    mutating func sent(at now: Moment) {
        if isStarting { next = interval.map { now + $0 } }
        isStarting = false
    }

    /// What was to be taken is void.
    mutating func clear() { left = 0 }
}
