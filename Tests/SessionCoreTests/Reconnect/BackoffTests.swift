import HoldfastTesting
import MachineCore
import SessionCore
import Testing

@Suite struct BackoffTests {
    @Test func `the ceiling doubles up to the cap and no further`() {
        let backoff = Backoff()
        #expect((1...8).map(backoff.ceiling) == [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000].map { .milliseconds($0) })
        #expect(backoff.ceiling(attempt: .max) == .seconds(30))
    }

    @Test func `odd settings neither trap nor wait for ever`() {
        var random = SeededGenerator(seed: 1)
        let huge = Duration.seconds(Int64.max)
        for base in [.zero, .seconds(-5), .nanoseconds(1), huge] {
            for jitter in [.full, .equal, .proportional(-.infinity), .proportional(.nan), .proportional(7)] as [Backoff.Jitter] {
                let backoff = Backoff(base: base, cap: .seconds(3), minimum: .seconds(9), jitter: jitter)
                for attempt in [.min, 0, 1, 1000, .max] {
                    #expect(backoff.delay(attempt: attempt, using: &random) == .seconds(3), "the cap wins over the minimum")
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
    func `every wait lies in its bounds and fills them`(jitter: Backoff.Jitter, low: Duration, high: Duration) throws {
        var random = SeededGenerator(seed: 42)
        let backoff = Backoff(jitter: jitter)
        let delays = (0..<2000).map { _ in backoff.delay(attempt: 4, using: &random) }
        let (least, most) = (try #require(delays.min()), try #require(delays.max()))
        #expect(least >= low && most <= high)
        #expect(least <= low + (high - low) * 0.01 && most >= high + (low - high) * 0.01)
    }

    /// The peers' pain "XOR for power in a backoff": swift-graphql.
    @Test func `the ceiling is the base times a power of two`() {
        let backoff = Backoff(base: .milliseconds(1), cap: .seconds(1 << 40))
        for attempt in 1...40 { #expect(backoff.ceiling(attempt: attempt) == .milliseconds(1 << (attempt - 1))) }
    }

    @Test func `at the cap a crowd is still spread, whatever the jitter`() {
        var random = SeededGenerator(seed: 5)
        for jitter in [.full, .equal, .proportional()] as [Backoff.Jitter] {
            let delays = Set((0..<100).map { _ in Backoff(jitter: jitter).delay(attempt: 20, using: &random) })
            #expect(delays.count > 90)
        }
    }

    /// The peers' pain "first retry after 0–10 ms without jitter": Phoenix, reconnecting-websocket.
    @Test func `no wait is zero unless asked for`() {
        var random = SeededGenerator(seed: 3)
        #expect((0..<1000).allSatisfy { _ in Backoff().delay(attempt: 1, using: &random) >= .milliseconds(100) })
        #expect(Backoff(base: .zero, minimum: .zero).delay(attempt: 1, using: &random) == .zero)
    }
}
