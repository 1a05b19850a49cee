/// Intervals that can be added to any moment and divided by.
enum DeliveryTime {
    /// From a microsecond to some hundred years.
    static func clamped(_ interval: Duration) -> Duration { min(max(interval, .microseconds(1)), .seconds(1 << 33)) }

    /// Whole nanoseconds; of more than 292 years, that many.
    static func nanoseconds(_ duration: Duration) -> Int64 {
        let (seconds, rest) = duration.components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, overflowToo) = whole.addingReportingOverflow(rest / 1_000_000_000)
        return overflow || overflowToo ? .max : sum
    }
}
