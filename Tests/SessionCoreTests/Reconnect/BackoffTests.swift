import HoldfastTesting
import MachineCore
import SessionCore
import Testing

@Suite struct BackoffTests {
    @Test func `the ceiling doubles up to the cap`() {
        let backoff = Backoff()
        #expect((1...8).map(backoff.ceiling) == [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000].map { .milliseconds($0) })
        #expect(backoff.ceiling(attempt: .max) == .seconds(30))
    }

    @Test func `extreme settings neither trap nor wait longer than the cap`() {
        var random = SeededGenerator(seed: 1)
        let huge = Duration.seconds(Int64.max)
        for base in [.zero, .seconds(-5), .nanoseconds(1), huge] {
            for jitter in [.full, .equal, .proportional(-.infinity), .proportional(.nan), .proportional(7)] as [Backoff.Jitter] {
                let backoff = Backoff(base: base, cap: .seconds(3), minimum: .seconds(9), jitter: jitter)
                for attempt in [.min, 0, 1, 1000, .max] {
                    #expect(backoff.delay(attempt: attempt, using: &random) == .seconds(3), "the cap takes precedence over the minimum")
                }
            }
        }
        #expect(Backoff(base: huge, cap: huge).delay(attempt: 99, using: &random) <= huge)
    }

    @Test(
        arguments: [
            (.full, .milliseconds(100), .seconds(4)), (.equal, .seconds(2), .seconds(4)),
            (.proportional(), .milliseconds(2800), .seconds(4)), (.proportional(0.25), .seconds(3), .seconds(4)),
            (.proportional(0), .seconds(4), .seconds(4)), (.proportional(1), .milliseconds(100), .seconds(4)),
        ] as [(Backoff.Jitter, Duration, Duration)])
    func `delays stay within their bounds and cover the whole range`(jitter: Backoff.Jitter, low: Duration, high: Duration) throws {
        var random = SeededGenerator(seed: 42)
        let backoff = Backoff(jitter: jitter)
        let delays = (0..<2000).map { _ in backoff.delay(attempt: 4, using: &random) }
        let (least, most) = (try #require(delays.min()), try #require(delays.max()))
        #expect(least >= low && most <= high)
        #expect(least <= low + (high - low) * 0.01 && most >= high + (low - high) * 0.01)
    }

    /// swift-graphql computed a XOR instead of a power.
    @Test func `the ceiling is the base times a power of two`() {
        let backoff = Backoff(base: .milliseconds(1), cap: .seconds(1 << 40))
        for attempt in 1...40 { #expect(backoff.ceiling(attempt: attempt) == .milliseconds(1 << (attempt - 1))) }
    }

    @Test func `at the cap delays still differ with every jitter`() {
        var random = SeededGenerator(seed: 5)
        for jitter in [.full, .equal, .proportional()] as [Backoff.Jitter] {
            let delays = Set((0..<100).map { _ in Backoff(jitter: jitter).delay(attempt: 20, using: &random) })
            #expect(delays.count > 90)
        }
    }

    /// Phoenix and reconnecting-websocket retry after 0–10 ms without jitter.
    @Test func `no delay is zero with default settings`() {
        var random = SeededGenerator(seed: 3)
        #expect((0..<1000).allSatisfy { _ in Backoff().delay(attempt: 1, using: &random) >= .milliseconds(100) })
        #expect(Backoff(base: .zero, minimum: .zero).delay(attempt: 1, using: &random) == .zero)
    }
}
