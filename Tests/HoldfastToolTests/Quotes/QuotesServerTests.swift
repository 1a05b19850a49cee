import HoldfastServer
import Testing
import WebSocketCore

@testable import HoldfastTool

@Suite struct QuotesServerTests {
    private func answer(_ target: String) -> HTTPResponse {
        QuotesServer.answer(RequestHead(method: "GET", target: target, headers: [:]))
    }

    @Test func `the root leads to the page, and there is nothing else`() {
        #expect(answer("/").status == 302 && answer("/").headers["Location"] == "/quotes")
        #expect(answer("/quotes").status == 200)
        #expect(answer("/feed").status == 404)
    }
}
