import Testing
import WebSocketCore

@Suite struct ProxyTests {
    struct Good: Sendable {
        let text: String, kind: Proxy.Kind, host: String, port: Int, user: String?, password: String?, shown: String
    }

    @Test(arguments: [
        Good(
            text: "proxy.example:3128", kind: .http, host: "proxy.example", port: 3128, user: nil, password: nil,
            shown: "http://proxy.example:3128"),
        Good(
            text: "HTTP://Proxy.Example/", kind: .http, host: "proxy.example", port: 80, user: nil, password: nil,
            shown: "http://proxy.example:80"),
        Good(text: "https://p", kind: .https, host: "p", port: 443, user: nil, password: nil, shown: "https://p:443"),
        Good(
            text: "socks5://10.0.0.1", kind: .socks5, host: "10.0.0.1", port: 1080, user: nil, password: nil,
            shown: "socks5://10.0.0.1:1080"),
        Good(text: "socks5h://u:p@[::1]:9", kind: .socks5, host: "::1", port: 9, user: "u", password: "p", shown: "socks5://[::1]:9"),
        Good(text: "http://me:p%40ss%3a@h:1", kind: .http, host: "h", port: 1, user: "me", password: "p@ss:", shown: "http://h:1"),
        Good(text: "http://me@h:1", kind: .http, host: "h", port: 1, user: "me", password: "", shown: "http://h:1"),
        Good(text: "http://a:b:c@h:1", kind: .http, host: "h", port: 1, user: "a", password: "b:c", shown: "http://h:1"),
    ])
    func `a proxy's URL is parsed, and its description hides the login`(good: Good) throws {
        let proxy = try Proxy(good.text)
        #expect((proxy.kind, proxy.host, proxy.port) == (good.kind, good.host, good.port))
        #expect(proxy.login?.user == good.user)
        #expect(proxy.login?.password == good.password)
        #expect(proxy.description == good.shown)
        #expect(try Proxy(good.kind, host: good.host, port: good.port, login: proxy.login) == proxy)
    }

    @Test(
        arguments: [
            ("ftp://h", .unsupportedScheme), ("http://h/path", .invalidHost), ("http://", .missingHost), ("http://h:0", .invalidPort),
            ("http://h i", .invalidCharacter), ("http://a%zz:b@h", .userInfo), ("http://a%00:b@h", .userInfo),
            ("http://a%3Ab:secret@h", .userInfo), ("socks5://a:@h", .userInfo), ("http://a:b%0Asecret@h", .userInfo),
            ("socks5://a:\(String(repeating: "secret", count: 43))@h", .userInfo),
            ("me:secret://b@h", .unsupportedScheme), ("http://me:secret", .invalidPort), ("http://me:secret/", .invalidPort),
        ] as [(String, URLProblem.Code)])
    func `an invalid proxy URL is refused, and the error hides the login`(text: String, code: URLProblem.Code) {
        let problem = #expect(throws: URLProblem.self) { try Proxy(text) }
        #expect(problem?.code == code)
        #expect(problem?.description.contains("secret") == false)
    }

    @Test func `descriptions and dumps of a proxy hide the login`() throws {
        let proxy = try Proxy("http://somebody:s3cr3t@h:1")
        var dumped = ""
        dump(proxy, to: &dumped)
        dump(proxy.login, to: &dumped)
        for text in ["\(proxy)", String(reflecting: proxy), "\(String(describing: proxy.login))", dumped] {
            #expect(!text.contains("s3cr3t") && !text.contains("somebody"), "\(text)")
        }
    }
}
