/// When one connection's messages are due at a fixed total rate; those of all connections interleave evenly.
struct Schedule: Hashable, Sendable {
    /// Messages per second of all connections together.
    let rate: Double
    let connections: Int
    /// Which of the connections this is, from 0.
    let place: Int

    /// When a message is due, counted from the start.
    func time(of number: Int) -> Duration {
        .nanoseconds(Int64(Double(number * connections + place) / rate * 1e9))
    }

    /// How many messages are due before a time.
    func count(before time: Duration) -> Int {
        // The estimate may be one off by rounding; `time(of:)` decides.
        let turns = time / .seconds(1) * rate
        var count = max(0, Int((turns - Double(place)) / Double(connections)) - 1)
        while self.time(of: count) < time { count += 1 }
        return count
    }
}
