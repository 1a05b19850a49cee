/// Intervals that can be added to any moment and divided by.
enum DeliveryTime {
    /// From a microsecond to some hundred years.
    static func clamped(_ interval: Duration) -> Duration { min(max(interval, .microseconds(1)), .seconds(1 << 33)) }
}
