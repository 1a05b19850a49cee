import Testing

@testable import HoldfastHub

/// Who may open a WebSocket.
@Suite struct DoorkeeperTests {
    private func takes(
        _ origin: String?, _ host: String? = "example.org:9001", among origins: [String] = [], isSecure: Bool = false,
        isLocal: Bool = false
    ) -> Bool {
        Doorkeeper(origins: origins, isSecure: isSecure, isLocal: isLocal).takes(origin: origin, host: host)
    }

    @Test func `who is no page says no origin, and may`() { #expect(takes(nil)) }

    @Test func `the hub's own pages may, and others may not`() {
        #expect(takes("http://example.org:9001") && takes("https://EXAMPLE.org:9001"))
        #expect(!takes("http://example.org") && !takes("http://evil.example.org:9001") && !takes("null"))
        #expect(!takes("http://example.org:9001", nil))
    }

    @Test func `a page that came without TLS may not connect to a hub with TLS`() {
        #expect(!takes("http://example.org:9001", isSecure: true) && takes("https://example.org:9001", isSecure: true))
    }

    @Test func `a hub for development is only what this machine calls itself`() {
        for host in ["localhost:9001", "127.0.0.1:9001", "[::1]:9001"] { #expect(takes("http://\(host)", host, isLocal: true)) }
        for host in ["example.org:9001", "local", "127.evil.example:9001", "localhost.evil.example"] {
            #expect(!takes("http://\(host)", host, isLocal: true), "\(host)")
        }
    }

    @Test func `origins that are named may, and a star names all`() {
        #expect(takes("https://app.example.com", among: ["https://App.example.com"]))
        #expect(!takes("https://app.example.com.evil.org", among: ["https://app.example.com"]))
        #expect(takes("null", among: ["*"]))
    }

    @Test func `what can never be the origin of a page is none`() {
        for text in ["https://example.org", "http://localhost:8080", "HTTP://[::1]:80", "null", "*"] {
            #expect(Doorkeeper.isOrigin(text), "\(text)")
        }
        for text in ["https://example.org/", "example.org", "https://", "https://a b", "*.example.org", ""] {
            #expect(!Doorkeeper.isOrigin(text), "\(text)")
        }
    }
}
