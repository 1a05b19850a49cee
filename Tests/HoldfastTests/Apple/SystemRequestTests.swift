import Holdfast
import Testing
import WebSocketApple

@Suite struct SystemRequestTests {
    private func problem(_ url: String, _ configure: (inout WebSocketConfiguration) -> Void = { _ in }) -> TransportError.Code? {
        do throws(TransportError) {
            _ = try SystemRequest(url, .with(configure))
            return nil
        } catch { return error.code }
    }

    @Test func `the system gets the headers, the subprotocols and the message limit`() throws {
        let request = try SystemRequest(
            "wss://example.com/feed?x=1",
            .with {
                $0.headers = ["Authorization": "Bearer t"]
                $0.subprotocols = ["a", "b"]
                $0.limits.message = 77
            })
        #expect(request.url == "wss://example.com/feed?x=1")
        #expect(request.headers == ["Authorization": "Bearer t", "Sec-WebSocket-Protocol": "a, b"])
        #expect(request.messageLimit == 77)
    }

    @Test func `pins require a URL with TLS`() throws {
        let pins = [PinSet("example.com", pins: [Pin(publicKeyInfo: [])])]
        #expect(problem("ws://example.com/") { $0.tls.pins = pins } == .invalidConfiguration)
        #expect(problem("wss://example.com/") { $0.tls.pins = pins } == nil)
    }

    @Test func `settings that the system does not support are errors`() {
        #expect(problem("wss://example.com/") == nil)
        #expect(problem("https://example.com/") == .invalidURL)
        #expect(problem("wss://example.com/") { $0.tls.serverName = "example.org" } == .invalidConfiguration)
        #expect(problem("wss://example.com/") { $0.tls.applicationProtocols = [] } == .invalidConfiguration)
        #expect(problem("wss://example.com/") { $0.tls.identity = .pkcs12(bytes: []) } == .invalidConfiguration)
        #expect(problem("wss://example.com/") { $0.redirects = RedirectPolicy() } == .invalidConfiguration)
        #expect(
            problem("wss://example.com/") { $0.proxy = .environment(ProxyEnvironment(["https_proxy": "http://127.0.0.1:1"])) }
                == .invalidConfiguration)
        #expect(problem("wss://example.com/") { $0.proxy = .environment(ProxyEnvironment([:])) } == nil)
        #expect(problem("wss://example.com/") { $0.httpVersion = .http2 } == .invalidConfiguration)
        #expect(problem("wss://example.com/") { $0.httpVersion = .automatic } == nil)
        #expect(problem("ws+unix:/run/feed.sock:/") == .invalidConfiguration)
        #expect(problem("wss://example.com/") { $0.headers = ["Upgrade": "h2c"] } == .invalidConfiguration)
        #expect(problem("wss://example.com/") { $0.subprotocols = ["a b"] } == .invalidConfiguration)
    }
}
