import HoldfastHub
import HoldfastServer
import Testing
import WebSocketCore

@testable import HoldfastTool

@Suite struct MetricsPageTests {
    private func answer(_ method: String, _ target: String) -> (status: Int, type: String?) {
        let response = MetricsPage.answer(RequestHead(method: method, target: target, headers: [:]), PrometheusRegistry())
        return (response.status, response.headers["Content-Type"])
    }

    @Test func `the page says which format it has`() {
        #expect(answer("GET", "/metrics") == (200, "text/plain; version=0.0.4; charset=utf-8"))
        #expect(answer("HEAD", "/metrics?x=1").status == 200)
    }

    @Test func `there is nothing else, and nothing can be changed`() {
        #expect(answer("GET", "/").status == 404 && answer("GET", "/metrics/more").status == 404)
        #expect(answer("POST", "/metrics").status == 405)
    }
}
