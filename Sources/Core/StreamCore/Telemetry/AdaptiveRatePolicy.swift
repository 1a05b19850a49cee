/// When a series is thinned out because the link does not keep up, and how far.
public struct AdaptiveRatePolicy: Hashable, Sendable {
    /// More bytes than this that wait to be sent are too many, and half of it or less is few; by default 64 KiB.
    public var backlog: Int
    /// A round trip of more than so many times the shortest one is too long, and half of that or less is short; by default 4.
    public var roundTripFactor: Int
    /// No round trip up to this is too long, whatever the shortest was; by default 300 ms.
    public var roundTripFloor: Duration
    /// The least share that is kept; by default 1 of 32.
    public var least: SampleShare
    /// How much more is kept after an ``interval`` in which all went well; by default 1/16 of all values.
    public var step: SampleShare
    /// The time between two changes in the same direction, and how long all must go well before more is kept; by default a second.
    public var interval: Duration

    /// A policy.
    public init(
        backlog: Int = 64 << 10, roundTripFactor: Int = 4, roundTripFloor: Duration = .milliseconds(300),
        least: SampleShare = .oneOf(32), step: SampleShare = .oneOf(16), interval: Duration = .seconds(1)
    ) {
        (self.backlog, self.roundTripFactor, self.roundTripFloor) = (backlog, roundTripFactor, roundTripFloor)
        (self.least, self.step, self.interval) = (least, step, interval)
    }
}
