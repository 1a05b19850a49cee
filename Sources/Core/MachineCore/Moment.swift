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
