/// A protocol's rule book: inputs in, effects out.
///
/// A machine does no I/O, reads no clock, draws no randomness and never suspends.
/// The same inputs always give the same effects, so a machine can be replayed,
/// fuzzed and searched exhaustively.
///
/// A machine has one owner. The owner applies what happens with ``handle(_:at:into:)``,
/// carries out the effects in order, and calls ``wake(at:into:)`` at the ``deadline``.
public protocol Machine: Sendable {
    /// What can happen to the machine.
    associatedtype Input: Sendable
    /// What the machine asks for (an order) or tells (news).
    associatedtype Effect: Sendable

    /// When to call ``wake(at:into:)`` if nothing else happens first; nil while only an input can change anything.
    var deadline: Moment? { get }

    /// Applies one input and appends what must be done about it, in order.
    ///
    /// Moments never go backwards from one call to the next. What `effects` already holds stays as it is.
    mutating func handle(_ input: Input, at now: Moment, into effects: inout [Effect])

    /// Applies the passing of time. Calling early or twice is harmless.
    mutating func wake(at now: Moment, into effects: inout [Effect])
}

/// A point on a connection's own timeline.
///
/// Machines never read a clock. The driver measures time with whatever `Clock`
/// it was given and passes the reading in, so a test can pass any reading.
public struct Moment: Hashable, Comparable, Sendable {
    /// Time elapsed since the driver started.
    public var offset: Duration

    /// The moment this long after the driver started.
    public init(_ offset: Duration) { self.offset = offset }

    /// When the driver started.
    public static let start = Moment(.zero)
    /// Later than any moment that a driver reaches, with room left to add durations to it.
    public static let distantFuture = Moment(.seconds(Int64.max / 2))

    /// The earliest of the deadlines of a machine's parts; nil if none of them has any.
    public static func earliest(_ moments: Moment?...) -> Moment? { moments.lazy.compactMap(\.self).min() }

    /// Whether `lhs` comes before `rhs`.
    public static func < (lhs: Moment, rhs: Moment) -> Bool { lhs.offset < rhs.offset }
    /// The moment `rhs` after `lhs`.
    public static func + (lhs: Moment, rhs: Duration) -> Moment { Moment(lhs.offset + rhs) }
    /// How long after `rhs` `lhs` is; negative if it comes before.
    public static func - (lhs: Moment, rhs: Moment) -> Duration { lhs.offset - rhs.offset }
}

extension Duration {
    /// Whole milliseconds, rounded towards zero; at most a quarter of what an `Int64` holds, so that some can be added.
    package var wholeMilliseconds: Int64 { whole(perSecond: 1000) }
    /// Whole microseconds, with the same bound.
    package var wholeMicroseconds: Int64 { whole(perSecond: 1_000_000) }
    /// Whole nanoseconds, with the same bound: 73 years.
    package var wholeNanoseconds: Int64 { whole(perSecond: 1_000_000_000) }

    private func whole(perSecond rate: Int64) -> Int64 {
        let most = Int64.max / 4 / rate
        let (seconds, attoseconds) = components
        return min(max(seconds, -most), most) * rate + attoseconds / (1_000_000_000_000_000_000 / rate)
    }

    /// The duration for people, in two or three digits: `850 µs`, `12 ms`, `1.3 s`, `42 s`, `3 min`, `5 h`.
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

    /// With one digit after the point, unless that is zero.
    private static func tenths(_ number: Double) -> String {
        let tenths = Int((number * 10).rounded())
        return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
    }
}
