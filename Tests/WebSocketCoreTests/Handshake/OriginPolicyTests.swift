import Testing
import WebSocketCore

@Suite struct OriginPolicyTests {
    private func refusal(
        _ origin: String?, at host: String? = "127.0.0.1:9001", by policy: OriginPolicy = OriginPolicy(), isSecure: Bool = false
    ) -> String? {
        var headers = HeaderFields()
        if let host { headers.add("Host", host) }
        if let origin { headers.add("Origin", origin) }
        return policy.refusal(of: RequestHead(target: "/", headers: headers), isSecure: isSecure)
    }

    @Test(arguments: ["127.0.0.1", "example.org:9001", "evil.example", "", nil])
    func `a request without an Origin is allowed for any host`(host: String?) {
        #expect(refusal(nil, at: host) == nil)
        #expect(refusal(nil, at: host, by: OriginPolicy(isStrict: true)) == nil)
    }

    @Test(
        arguments: [
            ("http://127.0.0.1:9001", "127.0.0.1:9001"), ("http://localhost:3000", "localhost:9001"),
            ("http://LOCALHOST", "localhost:9001"),
            ("http://app.localhost:1", "app.localhost:2"), ("http://[::1]:5173", "[::1]:9001"), ("https://10.1.2.3", "10.1.2.3:9001"),
            ("http://[fd00::1]", "[fd00::1]:9001"),
        ])
    func `a page on the server's own host may connect from any port`(origin: String, host: String) {
        #expect(refusal(origin, at: host) == nil)
    }

    @Test(
        arguments: [
            "https://evil.example", "http://127.0.0.2:9001", "http://localhost:9001", "null", "", "127.0.0.1:9001", "http://",
            "http://127.0.0.1:9001/",
            "http://127.0.0.1:9001@evil.example", "http://127.0.0.1:9001.evil.example", "http://127.0.0.1:x", "http://[127.0.0.1]:9001",
            "http://127.0.0.1 :9001", "http://127.0.0.1:9001, https://evil.example",
        ])
    func `pages of other origins are refused`(origin: String) {
        #expect(refusal(origin) == "Pages from `\(origin)` may not connect here.")
    }

    @Test(arguments: [("http://evil.example:9001", "evil.example:9001"), ("http://127.0.0.1.evil.example", "127.0.0.1.evil.example:9001")])
    func `a page on an unknown name of the server is refused`(origin: String, host: String) throws {
        let message = try #require(refusal(origin, at: host))
        #expect(message.contains("`\(host)` is not a known name of this server") && message.contains("`\(origin)`"))
        #expect(refusal(origin, at: host, by: OriginPolicy(allowed: [origin])) == nil)
    }

    @Test func `the hosts of allowed origins are names of the server`() {
        let policy = OriginPolicy(allowed: ["https://chat.example.org"])
        #expect(refusal("https://chat.example.org", at: "10.0.0.1", by: policy) == nil)
        #expect(refusal("HTTPS://Chat.Example.org", at: "10.0.0.1", by: policy) == nil)
        #expect(refusal("http://chat.example.org:9001", at: "chat.example.org:9001", by: policy) == nil)
        #expect(refusal("http://other.example.org", at: "other.example.org", by: policy) != nil)
        #expect(refusal("http://chat.example.org", at: "10.0.0.1", by: policy) != nil)
    }

    @Test func `a strict policy also checks the port and the scheme`() {
        let policy = OriginPolicy(isStrict: true)
        #expect(refusal("http://127.0.0.1:9001", by: policy) == nil)
        #expect(
            refusal("http://127.0.0.1", at: "127.0.0.1", by: policy) == nil
                && refusal("http://127.0.0.1:80", at: "127.0.0.1", by: policy) == nil)
        #expect(refusal("http://127.0.0.1:3000", by: policy) != nil && refusal("http://127.0.0.1", by: policy) != nil)
        #expect(refusal("ftp://127.0.0.1:9001", by: policy) != nil)
        // A proxy in front of the server may add TLS, but does not remove it.
        #expect(refusal("https://127.0.0.1:9001", by: policy) == nil)
        #expect(refusal("http://127.0.0.1:9001", by: policy, isSecure: true) != nil)
        #expect(refusal("https://127.0.0.1:9001", by: policy, isSecure: true) == nil)
    }

    @Test func `a star allows every origin, and null allows pages without an origin`() {
        for origin in ["https://evil.example", "null", ""] { #expect(refusal(origin, at: "evil.example", by: .any) == nil) }
        #expect(refusal("null", by: OriginPolicy(allowed: ["null"])) == nil)
    }

    @Test func `a request with an Origin is refused without exactly one Host`() {
        #expect(refusal("http://127.0.0.1:9001", at: nil) != nil)
        let fields: HeaderFields = ["Host": "127.0.0.1", "Host": "evil.example", "Origin": "http://127.0.0.1"]
        #expect(OriginPolicy().refusal(of: RequestHead(target: "/", headers: fields), isSecure: false) != nil)
    }

    @Test func `the first invalid allowed origin is reported`() {
        #expect(OriginPolicy(allowed: ["*", "null", "https://example.org", "http://[::1]:80", "app://x"]).firstInvalid == nil)
        for text in ["", "example.org", "https://", "https://example.org/", "https://a b", "://x", "https://x?y", "https://[x]"] {
            #expect(OriginPolicy(allowed: ["https://a", text]).firstInvalid == text)
        }
    }

    @Test(arguments: ["localhost", "LOCALHOST:80", "127.9.9.9:1", "[::1]:9", "a.localhost"])
    func `loopback names are recognized`(host: String) { #expect(OriginPolicy.isLoopback(host: host)) }

    @Test(arguments: ["evil.example", "127.0.0.1.evil.example", "10.0.0.1", "[::2]", "localhost.evil.example", "", "127.1", "::1", nil])
    func `other names are not loopback`(host: String?) { #expect(!OriginPolicy.isLoopback(host: host)) }
}
