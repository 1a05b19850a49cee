import NIOCore
import Testing

@testable import HoldfastTesting

@Suite struct ThrottleTests {
    /// Requests as many bytes as possible whenever the throttle allows it.
    @Test(arguments: [1, 7, 1000, 16_384, 1 << 20, 1 << 30])
    func `a throttle grants its rate per second, and little more`(rate: Int) {
        var throttle = Throttle(bytesPerSecond: rate)
        let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
        var (now, total, calls) = (start, 0, 0)
        while now < start + .seconds(10) {
            let grant = throttle.grant(.max, at: now)
            total += grant.count
            calls += 1
            #expect(grant.next > now)
            now = grant.next
        }
        #expect((9 * rate...10 * rate + rate / 10 + 1).contains(total))
        #expect(calls <= 1100, "at most one call every hundredth of a second")
    }

    @Test func `a throttle does not save up unused bytes`() {
        var throttle = Throttle(bytesPerSecond: 1000)
        let start = NIODeadline.uptimeNanoseconds(0)
        #expect(throttle.grant(10, at: start).count == 10)
        #expect(throttle.grant(1000, at: start + .milliseconds(5)).count == 0)
        #expect(throttle.grant(1_000_000, at: start + .hours(1)).count == 60)
    }

    @Test func `a throttle clamps rates that are too small or too large`() {
        #expect(Throttle(bytesPerSecond: -1).bytesPerSecond == 1)
        var fastest = Throttle(bytesPerSecond: .max)
        #expect(fastest.grant(1 << 20, at: .now()).count == 1 << 20)
    }
}
