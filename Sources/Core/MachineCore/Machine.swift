/// A protocol state machine: takes inputs and produces effects.
///
/// A machine does no I/O, reads no clock, draws no randomness and never suspends. The same inputs always give the same effects, so a
/// machine can be replayed, fuzzed and searched exhaustively.
///
/// A machine has one owner. The owner passes inputs to ``handle(_:at:into:)``, carries out the effects in order, and calls
/// ``wake(at:into:)`` at the ``deadline``.
public protocol Machine: Sendable {
    /// An event that the machine handles.
    associatedtype Input: Sendable
    /// An order that the machine gives, or news that it reports.
    associatedtype Effect: Sendable

    /// The moment at which to call ``wake(at:into:)`` if no input comes first; nil if only an input can change the state.
    var deadline: Moment? { get }

    /// Applies one input and appends the resulting effects in order.
    ///
    /// Moments must never go backwards from one call to the next. The effects that are already in `effects` stay unchanged.
    mutating func handle(_ input: Input, at now: Moment, into effects: inout [Effect])

    /// Applies the passing of time. Early and repeated calls have no effect.
    mutating func wake(at now: Moment, into effects: inout [Effect])
}

/// A point on a connection's own timeline.
///
/// Machines never read a clock. The driver measures time with its `Clock` and passes the moment in, so a test can pass any moment.
public struct Moment: Hashable, Comparable, Sendable {
    /// Time elapsed since the driver started.
    public var offset: Duration

    /// Creates the moment this long after the driver started.
    public init(_ offset: Duration) { self.offset = offset }

    /// The moment at which the driver started.
    public static let start = Moment(.zero)
    /// A moment later than any that a driver reaches, with room to add durations to it.
    public static let distantFuture = Moment(.seconds(Int64.max / 2))

    /// Returns the earliest of these moments; nil if all are nil.
    ///
    /// Combines the deadlines of a machine's parts.
    public static func earliest(_ moments: Moment?...) -> Moment? { moments.lazy.compactMap(\.self).min() }

    /// Whether `lhs` comes before `rhs`.
    public static func < (lhs: Moment, rhs: Moment) -> Bool { lhs.offset < rhs.offset }
    /// The moment `rhs` after `lhs`.
    public static func + (lhs: Moment, rhs: Duration) -> Moment { Moment(lhs.offset + rhs) }
    /// How long after `rhs` the moment `lhs` is; negative if `lhs` comes before `rhs`.
    public static func - (lhs: Moment, rhs: Moment) -> Duration { lhs.offset - rhs.offset }
}

extension Duration {
    /// Whole milliseconds, rounded towards zero; at most a quarter of the range of `Int64`, so that sums do not overflow.
    package var wholeMilliseconds: Int64 { whole(perSecond: 1000) }
    /// Whole microseconds, rounded and limited in the same way.
    package var wholeMicroseconds: Int64 { whole(perSecond: 1_000_000) }
    /// Whole nanoseconds, rounded and limited in the same way: at most 73 years.
    package var wholeNanoseconds: Int64 { whole(perSecond: 1_000_000_000) }

    private func whole(perSecond rate: Int64) -> Int64 {
        let most = Int64.max / 4 / rate
        let (seconds, attoseconds) = components
        return min(max(seconds, -most), most) * rate + attoseconds / (1_000_000_000_000_000_000 / rate)
    }

    /// The duration as text for people, with two or three digits: `850 µs`, `12 ms`, `1.3 s`, `42 s`, `3 min`, `5 h`.
    package var words: String {
        if self < .zero { return "-" + (.zero - self).words }
        let microseconds = self / .microseconds(1)
        return switch microseconds {
        case ..<999.5: "\(Int(microseconds.rounded())) µs"
        case ..<999_500: "\(Int((microseconds / 1000).rounded())) ms"
        case ..<9_950_000: "\(Self.tenths(microseconds / 1_000_000)) s"
        case ..<119_500_000: "\(Int((microseconds / 1_000_000).rounded())) s"
        case ..<7_170_000_000: "\(Int((microseconds / 60_000_000).rounded())) min"
        default: "\(Int(clamping: Int64((min(microseconds / 3_600_000_000, 1e15)).rounded()))) h"
        }
    }

    /// Formats the number with one digit after the point, or none if that digit is zero.
    private static func tenths(_ number: Double) -> String {
        let tenths = Int((number * 10).rounded())
        return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
    }
}

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
