import Testing

@testable import HoldfastMarket

@Suite struct SparklineTests {
    private func line(_ prices: [Int64]) -> Sparkline { prices.reduce(into: Sparkline()) { $0.append($1) } }

    @Test func `the least is the lowest bar and the greatest the highest`() {
        #expect(line([10, 17, 13, 12]).text(columns: 8) == "▁█▄▃")
    }

    @Test func `a flat line is low, and none is empty`() {
        #expect(line([5, 5, 5]).text(columns: 8) == "▁▁▁")
        #expect(line([]).text(columns: 8).isEmpty)
    }

    @Test func `the newest are shown, in as many columns as there are`() {
        #expect(line([100, 1, 2]).text(columns: 2) == "▁█")
        #expect(line([1, 2]).text(columns: 0).isEmpty)
        #expect(line([1, 2]).text(columns: -3).isEmpty)
    }

    @Test func `it keeps no more than it can show`() {
        let line = line(Array(0..<100))
        #expect(line.text(columns: 1000).count == Sparkline.capacity)
        #expect(line == self.line(Array(60..<100)))
    }
}
