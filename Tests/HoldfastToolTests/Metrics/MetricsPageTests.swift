import HoldfastHub
import HoldfastServer
import Testing
import WebSocketCore

@testable import HoldfastTool

@Suite struct MetricsPageTests {
    private func answer(_ method: String, _ target: String, at host: String = "127.0.0.1:9100") -> (status: Int, type: String?) {
        let response = MetricsPage.answer(RequestHead(method: method, target: target, headers: ["Host": host]), PrometheusRegistry())
        return (response.status, response.headers["Content-Type"])
    }

    @Test func `the page says which format it has`() {
        #expect(answer("GET", "/metrics") == (200, "text/plain; version=0.0.4; charset=utf-8"))
        #expect(answer("HEAD", "/metrics?x=1").status == 200)
    }

    @Test func `a page that makes its own name lead here gets nothing`() {
        for host in ["localhost:9100", "[::1]:9100", "127.0.0.1"] { #expect(answer("GET", "/metrics", at: host).status == 200, "\(host)") }
        for host in ["evil.example", "127.0.0.1.evil.example:9100", ""] {
            #expect(answer("GET", "/metrics", at: host).status == 403, "\(host)")
        }
    }

    @Test func `there is nothing else, and nothing can be changed`() {
        #expect(answer("GET", "/").status == 404 && answer("GET", "/metrics/more").status == 404)
        #expect(answer("POST", "/metrics").status == 405)
    }
}
