import Histogram

/// A distribution of times from 1 µs to 60 s, to three digits.
struct Latencies: Sendable {
    /// Longer times count as this long.
    static let longest = 60_000_000
    /// The percentiles that are told.
    static let told = [50, 90, 99, 99.9, 99.99]

    private var histogram = Histogram<UInt64>(
        lowestDiscernibleValue: 1, highestTrackableValue: UInt64(longest), numberOfSignificantValueDigits: .three)

    var count: Int { Int(histogram.totalCount) }
    var mean: Double { count == 0 ? 0 : histogram.mean }
    var shortest: Int { Int(histogram.min) }
    var max: Int { min(Int(histogram.maxRecorded), Self.longest) }
    /// Every value that came, ascending, and how often.
    var recorded: [(value: Int, count: Int)] { histogram.recordedValues().map { (Int($0.value), Int($0.count)) } }

    /// Takes a time in microseconds.
    mutating func record(_ microseconds: UInt32) {
        histogram.record(UInt64(Swift.max(1, min(Int(microseconds), Self.longest))))
    }

    mutating func add(_ other: Latencies) { histogram.add(other.histogram) }

    /// The time that so many of a hundred do not exceed, in microseconds; 0 if there are none.
    func percentile(_ percentile: Double) -> Int { count == 0 ? 0 : min(Int(histogram.valueAtPercentile(percentile)), Self.longest) }
}

extension Duration {
    /// This time in whole microseconds, as far as they are told apart.
    var latency: UInt32 {
        let (seconds, attoseconds) = components
        guard seconds < 60 else { return UInt32(Latencies.longest) }
        return seconds < 0 ? 0 : UInt32(seconds) * 1_000_000 + UInt32(Swift.max(0, attoseconds) / 1_000_000_000_000)
    }
}
