import HoldfastServer
import QuotesCore
import Testing
import WebSocketCore

@testable import HoldfastMarket

@Suite struct QuotesServerTests {
    private func answer(_ target: String) -> HTTPResponse {
        QuotesServer.answer(RequestHead(method: "GET", target: target, headers: [:]))
    }

    @Test func `the root leads to the page, and there is nothing else`() {
        #expect(answer("/").status == 302 && answer("/").headers["Location"] == "/quotes")
        #expect(answer("/quotes").status == 200)
        #expect(answer("/feed").status == 404)
    }

    @Test func `quotes have the time of the clock, however late the market begins`() {
        let floor = MarketFloor(MarketPlan(symbols: 1, rate: 100, mood: .calm, opening: 1000)) { 90_000 }
        floor.beat()
        #expect(floor.table[0].figures.time == 90_000)
    }
}
