import SessionCore

/// How long pongs took to come; see `DurationHistogram` for how exact the percentiles are.
public struct RoundTrips: Hashable, Sendable {
    /// How many there were.
    public let count: Int
    /// Half of them took no longer; nil if there were none.
    public let p50: Duration?
    /// 95 of a hundred took no longer.
    public let p95: Duration?
    /// 99 of a hundred took no longer.
    public let p99: Duration?
    /// The longest.
    public let max: Duration?

    /// What a histogram tells.
    public init(_ histogram: DurationHistogram) {
        (count, max) = (histogram.count, histogram.longest)
        (p50, p95, p99) = (histogram.percentile(50), histogram.percentile(95), histogram.percentile(99))
    }
}
