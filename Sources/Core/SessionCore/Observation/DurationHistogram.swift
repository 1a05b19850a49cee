/// Counts durations in fixed memory and computes percentiles.
///
/// Durations are recorded in whole microseconds, rounded up. Below 64 µs each value has its own counter. Above that, every power of two has
/// 32 counters, so a percentile is never too low and at most 1/32 (3.2 %) too high. Durations of 128 s and more share the last counter. The
/// counters take 3 KiB, allocated with the first duration.
public struct DurationHistogram: Hashable, Sendable {
    /// The number of significant bits of a duration, after the leading one.
    private static let precision = 5
    /// Durations below 2 to this power, in microseconds, have distinct counters.
    private static let range = 27
    private static let size = (range - precision + 1) << precision

    private var counters: [UInt32] = []
    /// The number of recorded durations.
    public private(set) var count = 0
    /// The longest recorded duration, exactly; nil if there is none.
    public private(set) var longest: Duration?

    /// Creates an empty histogram.
    public init() {}

    /// Records a duration.
    ///
    /// A negative one counts as zero.
    public mutating func record(_ duration: Duration) {
        if counters.isEmpty { counters = Array(repeating: 0, count: Self.size) }
        let index = Self.index(Self.microseconds(duration))
        if counters[index] < .max { counters[index] += 1 }
        count += 1
        longest = max(longest ?? .zero, duration)
    }

    /// Returns a duration that this percentage of the recorded durations do not exceed; nil if there is none.
    public func percentile(_ percentile: Double) -> Duration? {
        guard let longest else { return nil }
        let rank = max(1, Int((min(max(percentile, 0), 100) / 100 * Double(count)).rounded(.up)))
        var seen = 0
        for (index, counter) in counters.dropLast().enumerated() {
            seen += Int(counter)
            if seen >= rank { return min(.microseconds(Self.highest(index)), longest) }
        }
        return longest
    }

    private static func microseconds(_ duration: Duration) -> UInt64 {
        let (seconds, attoseconds) = duration.components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        guard seconds < 1 << (range - 20) else { return .max }
        return UInt64(seconds) * 1_000_000 + UInt64((attoseconds + 999_999_999_999) / 1_000_000_000_000)
    }

    private static func index(_ microseconds: UInt64) -> Int {
        guard microseconds < 1 << range else { return size - 1 }
        let shift = max(0, 63 - microseconds.leadingZeroBitCount - precision)
        return shift << precision + Int(microseconds >> UInt64(shift))
    }

    /// Returns the longest duration that this counter covers, in microseconds.
    private static func highest(_ index: Int) -> UInt64 {
        let shift = max(0, index >> precision - 1)
        return (UInt64(index - shift << precision) + 1) << UInt64(shift) - 1
    }
}
