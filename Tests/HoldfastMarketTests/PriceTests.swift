import Testing

@testable import HoldfastMarket

@Suite struct PriceTests {
    @Test(
        arguments: [
            (0, "0.00"), (1, "0.0001"), (7312, "0.7312"), (10_000, "1.00"), (1_895_000, "189.50"), (1_895_050, "189.5050"),
            (-100, "-0.01"), (.min, "-922337203685477.5808"), (9_007_199_254_740_991, "900719925474.0991"),
        ] as [(Int64, String)])
    func `a price has two decimals, or four where there is more to tell`(price: Int64, text: String) {
        #expect(Price.text(price) == text)
    }

    @Test(
        arguments: [
            (1000, 1000, "+0.00 %"), (1031, 1000, "+3.10 %"), (995, 1000, "-0.50 %"), (999_999, 1_000_000, "+0.00 %"),
            (20, 10, "+100.00 %"),
            (1, 10, "-90.00 %"), (5, 0, ""), (9_007_199_254_740_991, 1, "+90071992547409.92 %"),
        ] as [(Int64, Int64, String)])
    func `a change is in percent of its base`(price: Int64, base: Int64, text: String) {
        #expect(Price.change(of: price, from: base) == text)
    }
}
