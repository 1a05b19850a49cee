import Foundation
import Testing

@testable import HoldfastMarket

@Suite struct QuoteLinesTests {
    @Test func `only what has changed is told again`() {
        var lines = QuoteLines(isJSON: false)
        #expect(lines.lines([quote("A", last: 1), quote("B", last: 2)]).count == 2)
        let news = lines.lines([quote("A", last: 1), quote("B", last: 30_000)])
        #expect(news == ["B                3.00        0.01        0.02             0"])
        #expect(lines.lines([quote("A", last: 1), quote("B", last: 30_000)]).isEmpty)
    }

    @Test func `what is not current is told as old`() {
        var lines = QuoteLines(isJSON: false)
        _ = lines.lines([quote("A", last: 1)])
        #expect(lines.lines([quote("A", last: 1, isCurrent: false)]).allSatisfy { $0.hasSuffix("  old") })
        #expect(lines.lines([quote("A", last: 1)]).count == 1)
    }

    @Test func `a line of JSON has all of the quote`() throws {
        var lines = QuoteLines(isJSON: true)
        let line = try #require(lines.lines([quote("BANK.K3", last: 1_895_000, bid: 1, ask: 1_895_100, volume: 12)]).first)
        struct Line: Decodable, Equatable {
            let symbol: String
            let version: Int
            let bid, ask, last: Double
            let volume, time: Int
            let current: Bool
        }
        let read = try JSONDecoder().decode(Line.self, from: Data(line.utf8))
        #expect(
            read
                == Line(symbol: "BANK.K3", version: 1, bid: 0.0001, ask: 189.51, last: 189.5, volume: 12, time: 7, current: true))
    }
}
