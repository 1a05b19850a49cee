import Testing

@testable import HoldfastMarket

@Suite struct TickRateTests {
    @Test func `the rate is that of the last whole second`() {
        let start = ContinuousClock.now
        var rate = TickRate()
        rate.note(1000, at: start)
        rate.note(1500, at: start + .milliseconds(999))
        #expect(rate.perSecond == 0)
        rate.note(3000, at: start + .seconds(2))
        #expect(rate.perSecond == 1000)
        rate.note(3500, at: start + .milliseconds(2900))
        #expect(rate.perSecond == 1000)
        rate.note(3500, at: start + .milliseconds(4000))
        #expect(rate.perSecond == 250)
    }
}
