import Testing

@testable import HoldfastTool

@Suite struct DemoLedgerTests {
    @Test func `the promise is kept when every message comes back and every cut is survived`() {
        var ledger = DemoLedger()
        ledger.opened(at: .seconds(0))
        ledger.sent(1, at: .seconds(1))
        ledger.echoed(1, at: .milliseconds(1010))
        ledger.sent(2, at: .seconds(2))
        ledger.lost(at: .seconds(3))
        ledger.lost(at: .seconds(4))
        #expect(!ledger.isOpen)
        #expect(ledger.unanswered == [2])
        #expect(!ledger.keepsPromise(messages: 2, cuts: 1))
        ledger.opened(at: .seconds(5))
        ledger.sent(2, at: .seconds(5))
        #expect(!ledger.keepsPromise(messages: 2, cuts: 1))
        ledger.echoed(2, at: .milliseconds(5030))
        ledger.echoed(2, at: .seconds(6))
        #expect(ledger.keepsPromise(messages: 2, cuts: 1))
        #expect(!ledger.keepsPromise(messages: 2, cuts: 2))
        #expect(!ledger.keepsPromise(messages: 3, cuts: 1))
        #expect(
            ledger.summary == [
                "2 of 2 messages echoed, 1 sent again after a cut, 1 echoed twice",
                "round trip: median 30 ms, longest 30 ms",
                "back by itself 1 time, after 2 s",
            ])
    }

    @Test func `an echo of nothing proves nothing`() {
        var ledger = DemoLedger()
        #expect(ledger.echoed(1, at: .seconds(1)) == nil)
        #expect(!ledger.keepsPromise(messages: 1, cuts: 0))
        #expect(!ledger.keepsPromise(messages: 0, cuts: 0))
        #expect(ledger.duplicateCount == 0)
    }

    @Test func `failing before the first opening is no outage`() {
        var ledger = DemoLedger()
        ledger.lost(at: .seconds(1))
        ledger.opened(at: .seconds(2))
        #expect(ledger.outages.isEmpty)
    }
}
