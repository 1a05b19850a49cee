/// How many ticks come in a second, from a count that only grows.
struct TickRate: Sendable {
    private static let window = Duration.seconds(1)

    private var since: (count: Int, time: ContinuousClock.Instant)?
    /// Over the last whole second.
    private(set) var perSecond = 0

    mutating func note(_ count: Int, at now: ContinuousClock.Instant) {
        guard let since else { return self.since = (count, now) }
        let span = now - since.time
        guard span >= Self.window else { return }
        perSecond = Int((Double(count - since.count) / (span / .seconds(1))).rounded())
        self.since = (count, now)
    }
}
