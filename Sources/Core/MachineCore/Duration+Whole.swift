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
}
