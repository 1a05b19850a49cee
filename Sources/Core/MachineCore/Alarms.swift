/// Alarms ordered by due time, stored in a binary heap that tracks the position of each alarm.
///
/// Alarms that are due at the same moment ring in the order in which they were set.
public struct Alarms<Alarm: Hashable & Sendable>: Sendable {
    @usableFromInline struct Node: Sendable {
        @usableFromInline var at: Moment
        @usableFromInline var turn: UInt64
        @usableFromInline var alarm: Alarm

        @inlinable init(at: Moment, turn: UInt64, alarm: Alarm) { (self.at, self.turn, self.alarm) = (at, turn, alarm) }

        @inlinable static func < (lhs: Node, rhs: Node) -> Bool { (lhs.at, lhs.turn) < (rhs.at, rhs.turn) }
    }
    @usableFromInline var heap: [Node] = []
    @usableFromInline var places: [Alarm: Int] = [:]
    @usableFromInline var turns: UInt64 = 0

    /// Creates an empty set of alarms.
    @inlinable public init() {}

    /// The moment at which the first alarm rings; nil if none is set.
    @inlinable public var next: Moment? { heap.first?.at }

    /// Whether this alarm is set.
    @inlinable public func isSet(_ alarm: Alarm) -> Bool { places[alarm] != nil }

    /// Sets an alarm, replacing the same alarm if it was already set.
    @inlinable public mutating func set(_ alarm: Alarm, at moment: Moment) {
        cancel(alarm)
        turns += 1
        heap.append(Node(at: moment, turn: turns, alarm: alarm))
        places[alarm] = heap.count - 1
        rise(from: heap.count - 1)
    }

    /// Cancels an alarm if it is set.
    @inlinable public mutating func cancel(_ alarm: Alarm) {
        guard let place = places.removeValue(forKey: alarm) else { return }
        let last = heap.removeLast()
        guard place < heap.count else { return }
        heap[place] = last
        places[last.alarm] = place
        rise(from: place)
        sink(from: place)
    }

    /// Removes and returns the next alarm that is due; nil if none is due.
    @inlinable public mutating func due(at now: Moment) -> Alarm? {
        guard let first = heap.first, first.at <= now else { return nil }
        cancel(first.alarm)
        return first.alarm
    }

    @inlinable mutating func rise(from start: Int) {
        var place = start
        while place > 0, heap[place] < heap[(place - 1) / 2] {
            exchange(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    @inlinable mutating func sink(from start: Int) {
        var place = start
        while true {
            let left = 2 * place + 1
            guard left < heap.count else { return }
            let least = left + 1 < heap.count && heap[left + 1] < heap[left] ? left + 1 : left
            guard heap[least] < heap[place] else { return }
            exchange(place, least)
            place = least
        }
    }

    @inlinable mutating func exchange(_ one: Int, _ other: Int) {
        heap.swapAt(one, other)
        places[heap[one].alarm] = one
        places[heap[other].alarm] = other
    }
}
