import Testing
import WebSocketCore

@Suite struct ProxyEnvironmentTests {
    @Test(
        arguments: [
            ([:], "ws://h/", nil),
            (["HTTP_PROXY": "p:1"], "ws://h/", "p:1"),
            (["HTTP_PROXY": "p:1"], "wss://h/", nil),
            (["HTTPS_PROXY": "p:1"], "wss://h/", "p:1"),
            (["HTTPS_PROXY": "p:1"], "ws://h/", nil),
            (["ALL_PROXY": "p:1"], "ws://h/", "p:1"),
            (["ALL_PROXY": "p:1"], "wss://h/", "p:1"),
            (["ALL_PROXY": "p:1", "HTTPS_PROXY": "q:2"], "wss://h/", "q:2"),
            (["https_proxy": "low:1", "HTTPS_PROXY": "up:2"], "wss://h/", "low:1"),
            (["https_proxy": "", "HTTPS_PROXY": "up:2"], "wss://h/", nil),
            (["https_proxy": "", "ALL_PROXY": "all:3"], "wss://h/", "all:3"),
            (["HTTP_PROXY": "p:1", "REQUEST_METHOD": "GET"], "ws://h/", nil),
            (["http_proxy": "p:1", "REQUEST_METHOD": "GET"], "ws://h/", "p:1"),
            (["ALL_PROXY": "p:1"], "ws+unix:/run/s:/", nil),
        ] as [([String: String], String, String?)])
    func `the environment selects the proxy of a scheme`(environment: [String: String], url: String, proxy: String?) throws {
        #expect(try ProxyEnvironment(environment).proxy(for: WebSocketURL(url)) == proxy.map { try Proxy($0) })
    }

    @Test(
        arguments: [
            ("*", "ws://any/", true),
            ("", "ws://any/", false),
            ("example.com", "ws://example.com/", true),
            ("example.com", "ws://Deep.Sub.EXAMPLE.com/", true),
            ("example.com", "ws://notexample.com/", false),
            ("example.com", "ws://example.com.evil/", false),
            (".example.com", "ws://a.example.com/", true),
            (".example.com", "ws://example.com/", false),
            ("*.example.com", "ws://a.example.com/", true),
            ("*.example.com", "ws://example.com/", false),
            ("EXAMPLE.com", "ws://example.com./", true),
            ("a, b\tc d", "ws://c/", true),
            ("a,,b", "ws://x/", false),
            ("h:8080", "ws://h:8080/", true),
            ("h:8080", "ws://h/", false),
            ("h:443", "wss://h/", true),
            ("10.0.0.1", "ws://10.0.0.1/", true),
            ("10.0.0.1:81", "ws://10.0.0.1/", false),
            ("10.0.0.1:81", "ws://10.0.0.1:81/", true),
            ("0.1", "ws://10.0.0.1/", false),
            ("10.0.0.0/8", "ws://10.255.0.1/", true),
            ("10.0.0.0/8", "ws://11.0.0.1/", false),
            ("10.0.0.128/25", "ws://10.0.0.127/", false),
            ("10.0.0.128/25", "ws://10.0.0.200/", true),
            ("0.0.0.0/0", "ws://1.2.3.4/", true),
            ("0.0.0.0/0", "ws://[::1]/", false),
            ("10.0.0.0/33", "ws://10.0.0.0/", false),
            ("10.0.0.0/8", "ws://name/", false),
            ("::1", "ws://[::1]/", true),
            ("[::1]", "ws://[0:0:0:0:0:0:0:1]/", true),
            ("[::1]:9", "ws://[::1]:9/", true),
            ("[::1]:9", "ws://[::1]/", false),
            ("fd00::/8", "ws://[fdab::1]/", true),
            ("fd00::/8", "ws://[fe80::1]/", false),
            ("::ffff:1.2.3.4", "ws://[::ffff:102:304]/", true),
            ("1:2:3:4:5:6:7::8", "ws://[1:2:3:4:5:6:7:8]/", false),
            ("010.0.0.1", "ws://10.0.0.1/", false),
        ])
    func `NO_PROXY lists the hosts that are reached directly`(list: String, url: String, isDirect: Bool) throws {
        for name in ["NO_PROXY", "no_proxy"] {
            let environment = ProxyEnvironment(["ALL_PROXY": "p:1", name: list])
            #expect(try environment.proxy(for: WebSocketURL(url)) == (isDirect ? nil : Proxy("p:1")))
        }
    }

    @Test func `an error names the invalid variable without its password, and only if the variable applies`() throws {
        let environment = ProxyEnvironment(["HTTPS_PROXY": "ftp://me:s3cr3t@h", "NO_PROXY": "friend"])
        let problem = #expect(throws: URLProblem.self) { try environment.proxy(for: WebSocketURL("wss://h/")) }
        #expect(problem?.description == "HTTPS_PROXY: `ftp` is not a kind of proxy; use http:, https: or socks5:")
        #expect(try environment.proxy(for: WebSocketURL("ws://h/")) == nil)
        #expect(try environment.proxy(for: WebSocketURL("wss://friend/")) == nil)
    }

    @Test func `descriptions do not contain the values of the variables`() {
        let environment = ProxyEnvironment(["HTTPS_PROXY": "http://me:s3cr3t@h", "all_proxy": "socks5://me:s3cr3t@h"])
        var text = "\(environment) \(String(reflecting: environment))"
        dump(environment, to: &text)
        #expect(!text.contains("s3cr3t"))
        #expect("\(environment)" == "the proxies of HTTPS_PROXY, all_proxy")
        #expect("\(ProxyEnvironment([:]))" == "no proxy of the environment")
    }
}
