/// How often which duration was seen: what a percentile is told from, in fixed memory.
///
/// Durations are taken in whole microseconds, rounded up. Below 64 µs each has a counter of its own; from there on every power of two
/// has 32 of them, so that a percentile is never too low and at most 1/32 (3.2 %) too high. Durations of 128 s and more share the
/// last counter. Takes 3 KiB, from the first duration on.
public struct DurationHistogram: Hashable, Sendable {
    /// How many bits of a duration count, behind its first.
    private static let precision = 5
    /// Durations are told apart below 2 to this power, in microseconds.
    private static let range = 27
    private static let size = (range - precision + 1) << precision

    private var counters: [UInt32] = []
    /// How many durations were recorded.
    public private(set) var count = 0
    /// The longest of them, exactly; nil if there are none.
    public private(set) var longest: Duration?

    /// A histogram of nothing.
    public init() {}

    /// Takes a duration; a negative one counts as zero.
    public mutating func record(_ duration: Duration) {
        if counters.isEmpty { counters = Array(repeating: 0, count: Self.size) }
        let index = Self.index(Self.microseconds(duration))
        if counters[index] < .max { counters[index] += 1 }
        count += 1
        longest = max(longest ?? .zero, duration)
    }

    /// A duration that so many of a hundred do not exceed; nil if there are none.
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

    /// The longest duration that is counted there, in microseconds.
    private static func highest(_ index: Int) -> UInt64 {
        let shift = max(0, index >> precision - 1)
        return (UInt64(index - shift << precision) + 1) << UInt64(shift) - 1
    }
}
