import Testing
import WebSocketCore

/// RFC 6265 §5.3 and §5.4, and the additions of RFC 6265bis.
@Suite struct CookieJarTests {
    private static let now: Int64 = 1_800_000_000

    /// The cookies sent in a handshake for `url` after `origin` set `fields`.
    private func sent(
        _ fields: String..., by origin: String = "wss://example.com/", to url: String, after seconds: Int64 = 0,
        domains: [String] = []
    ) throws -> String? {
        var jar = CookieJar(domains: domains)
        try jar.set(fields, by: origin, at: Self.now)
        return try jar.header(for: url, at: Self.now + seconds)
    }

    @Test func `a cookie is sent back to its origin`() throws {
        #expect(try sent("a=1", to: "wss://example.com/feed") == "a=1")
        #expect(try sent("a=1", "b=2; HttpOnly; SameSite=Strict", to: "wss://example.com/") == "a=1; b=2")
        #expect(try sent("a=1", to: "wss://EXAMPLE.com:8443/") == "a=1")
    }

    @Test(
        arguments: [
            "wss://other.com/", "wss://www.example.com/", "wss://com/", "wss://badexample.com/", "wss+unix:/example.com:/",
        ])
    func `a cookie is not sent to other hosts`(url: String) throws { #expect(try sent("a=1", to: url) == nil) }

    @Test func `a Domain outside the app's domains does not share the cookie with other hosts`() throws {
        #expect(try sent("a=1; Domain=co.uk", by: "wss://evil.co.uk/", to: "wss://bank.co.uk/") == nil)
        #expect(try sent("a=1; Domain=co.uk", by: "wss://evil.co.uk/", to: "wss://evil.co.uk/") == "a=1")
        #expect(try sent("a=1; Domain=example.com", to: "wss://www.example.com/") == nil)
    }

    @Test(arguments: ["Domain=example.com", "domain=.Example.COM", "Domain=other.com; Domain=example.com"])
    func `a cookie with a Domain inside the app's domains is sent to all hosts of it`(domain: String) throws {
        let urls = ["wss://example.com/", "wss://a.example.com/", "wss://b.a.example.com/", "wss://badexample.com/", "wss://com/"]
        let found = try urls.map { try sent("a=1; \(domain)", by: "wss://www.example.com/", to: $0, domains: [".EXAMPLE.com"]) }
        #expect(found == ["a=1", "a=1", "a=1", nil, nil])
        #expect(try sent("a=1; Domain=com", by: "wss://example.com/", to: "wss://other.com/", domains: ["example.com"]) == nil)
        #expect(
            try sent("a=1; Domain=a.example.com", by: "wss://a.example.com/", to: "wss://example.com/", domains: ["example.com"]) == nil)
    }

    @Test(arguments: ["other.com", "www.example.com", "xample.com", "example.com."])
    func `a Domain that does not contain the server is refused`(domain: String) throws {
        #expect(try sent("a=1; Domain=\(domain)", to: "wss://example.com/", domains: ["com"]) == nil)
    }

    @Test func `an IP address has no domain`() throws {
        #expect(try sent("a=1; Domain=0.0.1", by: "wss://127.0.0.1/", to: "wss://127.0.0.1/", domains: ["0.0.1"]) == nil)
        #expect(try sent("a=1; Domain=127.0.0.1", by: "wss://127.0.0.1/", to: "wss://127.0.0.1/") == "a=1")
        #expect(try sent("a=1", by: "wss://[::1]/", to: "wss://[::1]/") == "a=1")
        let shared = try #require(Cookie(name: "a", value: "1", host: "0.0.1", includesSubdomains: true))
        #expect(try CookieJar([shared]).header(for: "wss://127.0.0.1/", at: Self.now) == nil)
    }

    @Test func `each Unix domain socket has its own cookies`() throws {
        let urls = ["ws+unix:/run/a:/y", "ws+unix:/run/b:/y", "ws://localhost/y"]
        #expect(try urls.map { try sent("a=1", by: "ws+unix:/run/a:/x", to: $0) } == ["a=1", nil, nil])
    }

    @Test(
        arguments: [
            ("/a", "/a", true), ("/a", "/a/", true), ("/a", "/a/b?c", true), ("/a", "/a?b", true), ("/a", "/ab", false), ("/a", "/", false),
            ("/a", "/A", false), ("/a/", "/a", false), ("/a/", "/a/b", true), ("/", "/x", true),
        ])
    func `a cookie is sent for its path and the paths below`(path: String, target: String, isSent: Bool) throws {
        #expect(try sent("a=1; Path=\(path)", to: "wss://example.com\(target)") == (isSent ? "a=1" : nil))
    }

    @Test(arguments: [("/", "/"), ("/x", "/"), ("/x/y", "/x"), ("/x/y/?z=/q", "/x/y")])
    func `a cookie without a path gets the directory of the request`(target: String, path: String) throws {
        for attribute in ["", "; Path", "; Path=x", "; Path=/a; Path="] {
            var jar = CookieJar()
            try jar.set(["a=1\(attribute)"], by: "wss://example.com\(target)", at: Self.now)
            #expect(jar.cookies.map(\.path) == [path])
        }
    }

    @Test func `cookies with longer paths come first, then older cookies`() throws {
        let header = try sent("a=1; Path=/", "b=2; Path=/x/y", "c=3; Path=/x", "d=4; Path=/", to: "wss://example.com/x/y")
        #expect(header == "b=2; c=3; a=1; d=4")
    }

    @Test func `a cookie with the same name, host and path is replaced in place`() throws {
        #expect(try sent("a=1; Path=/", "b=2; Path=/", "a=3; Path=/", to: "wss://example.com/") == "a=3; b=2")
        #expect(try sent("a=1; Path=/", "a=2; Path=/x", to: "wss://example.com/x") == "a=2; a=1")
    }

    @Test(
        arguments: [
            ("Max-Age=10", 10), ("Max-Age=10; Expires=Thu, 01 Jan 1970 00:00:00 GMT", 10), ("Expires=Fri, 15 Jan 2027 08:00:10 GMT", 10),
            ("Max-Age=x; Expires=Fri, 15 Jan 2027 08:00:10 GMT", 10), ("Max-Age=99999999999999999999", 400 * 86_400),
            ("Expires=Fri, 15 Jan 2999 08:00:00 GMT", 400 * 86_400),
        ])
    func `a cookie lasts until it expires, and at most 400 days`(attributes: String, life: Int64) throws {
        #expect(try sent("a=1; \(attributes)", to: "wss://example.com/", after: life - 1) == "a=1")
        #expect(try sent("a=1; \(attributes)", to: "wss://example.com/", after: life) == nil)
    }

    @Test(arguments: ["", "Max-Age=", "Max-Age=+5", "Max-Age=1.5", "Expires=never"])
    func `a cookie without a valid expiry lasts as long as the jar`(attributes: String) throws {
        #expect(try sent("a=1; \(attributes)", to: "wss://example.com/", after: 1 << 40) == "a=1")
    }

    @Test(arguments: ["Max-Age=0", "Max-Age=-1", "Expires=Thu, 01 Jan 1970 00:00:00 GMT"])
    func `a server deletes a cookie with an expiry in the past`(attributes: String) throws {
        var jar = CookieJar()
        try jar.set(["a=1; Path=/", "b=2; Path=/", "a=; Path=/; \(attributes)"], by: "wss://example.com/", at: Self.now)
        #expect(jar.cookies.map(\.name) == ["b"])
    }

    @Test func `expired cookies are dropped when the next response arrives`() throws {
        var jar = CookieJar()
        try jar.set(["a=1; Max-Age=5"], by: "wss://example.com/", at: Self.now)
        try jar.set(["b=1"], by: "wss://other.com/", at: Self.now + 5)
        #expect(jar.cookies.map(\.name) == ["b"])
    }

    @Test func `a Secure cookie is sent and accepted over TLS only`() throws {
        let urls = ["wss://example.com/", "ws://example.com/"]
        #expect(try urls.map { try sent("a=1; Secure", to: $0) } == ["a=1", nil])
        #expect(try urls.map { try sent("a=1; Secure", by: "ws://example.com/", to: $0) } == [nil, nil])
        #expect(try urls.map { try sent("a=1", to: $0) } == ["a=1", "a=1"])
    }

    @Test(arguments: [("a=2; Path=/", 1), ("a=2; Path=/x", 1), ("b=2; Path=/", 2)])
    func `a cookie from an insecure origin does not replace or hide a Secure one`(field: String, count: Int) throws {
        for path in ["/", "/x"] where path == "/" || field.contains("/x") {
            var jar = CookieJar()
            try jar.set(["a=1; Path=\(path); Secure"], by: "wss://example.com/", at: Self.now)
            try jar.set([field], by: "ws://example.com/", at: Self.now)
            #expect(jar.cookies.count == count)
            #expect(jar.cookies.first?.value == "1")
            try jar.set(["a=3; Path=\(path)"], by: "wss://example.com/", at: Self.now)
            #expect(jar.cookies.first?.value == "3")
        }
    }

    @Test func `a cookie from an insecure origin is accepted if it hides no Secure one`() throws {
        var jar = CookieJar()
        try jar.set(["a=1; Path=/x; Secure"], by: "wss://example.com/", at: Self.now)
        try jar.set(["a=2; Path=/"], by: "ws://example.com/", at: Self.now)
        try jar.set(["a=3; Path=/x"], by: "ws://other.com/", at: Self.now)
        #expect(jar.cookies.map(\.value) == ["1", "2", "3"])
    }

    @Test(
        arguments: [
            ("__Secure-a=1; Secure", true), ("__Secure-a=1", false), ("__secure-a=1", false), ("__Host-a=1; Secure; Path=/", true),
            ("__Host-a=1; Path=/", false), ("__Host-a=1; Secure", false), ("__Host-a=1; Secure; Path=/; Domain=example.com", false),
            ("__HOST-a=1; Secure; Path=/x", false),
        ])
    func `a prefixed name is accepted only with the attributes that the prefix requires`(field: String, isAccepted: Bool) throws {
        #expect(try sent(field, to: "wss://example.com/x") != nil || !isAccepted)
        var jar = CookieJar()
        try jar.set([field], by: "wss://example.com/", at: Self.now)
        #expect(jar.cookies.isEmpty != isAccepted)
    }

    @Test(arguments: ["", "a", "=1", " =1", ";a=1", "a=1\u{1}", "a=\u{7F}"])
    func `an invalid cookie is ignored`(field: String) throws { #expect(try sent(field, to: "wss://example.com/") == nil) }

    @Test(arguments: [
        ("a=", "a="), (" a \t=  b c ; x", "a=b c"), ("a=b=c", "a=b=c"), ("a=\"q\"", "a=\"q\""), ("a=\u{E9};\u{301}", "a=\u{E9}"),
    ])
    func `the first equals sign separates name and value`(field: String, pair: String) throws {
        #expect(try sent(field, to: "wss://example.com/") == pair)
    }

    @Test func `an attribute that is too long is ignored`() throws {
        let long = String(repeating: "x", count: 1024)
        #expect(try sent("a=1; Path=/\(long)", to: "wss://example.com/") == "a=1")
        #expect(try sent("a=1; Path=/\(long.dropLast())", to: "wss://example.com/") == nil)
    }

    @Test func `the app's own Cookie fields come first and take precedence`() throws {
        var jar = CookieJar()
        try jar.set(["a=1; Path=/", "b=2; Path=/"], by: "wss://example.com/", at: Self.now)
        var headers: HeaderFields = ["Cookie": "x=9; b =8", "Origin": "o", "cookie": "y=7"]
        jar.add(to: &headers, for: try WebSocketURL("wss://example.com/"), at: Self.now)
        #expect(headers == ["Cookie": "x=9; b =8; y=7; a=1", "Origin": "o"])
        headers = ["Cookie": "a=9; b=8"]
        jar.add(to: &headers, for: try WebSocketURL("wss://example.com/"), at: Self.now)
        #expect(headers == ["Cookie": "a=9; b=8"])
    }

    @Test func `the limits of a jar evict the oldest cookies`() throws {
        var limits = CookieJar.Limits()
        (limits.cookieSize, limits.cookiesPerHost, limits.bytesPerHost, limits.cookies) = (8, 3, 20, 4)
        var jar = CookieJar(limits: limits)
        func names() -> String { jar.cookies.map(\.name).joined() }
        try jar.set(["a=1", "c=3", "d=4", "e=5", "b=12345678"], by: "wss://one/", at: Self.now)
        #expect(names() == "cde")
        try jar.set(["f=1234567", "g=1234567", "h=1234567"], by: "wss://two/", at: Self.now)
        #expect(names() == "degh")
        try jar.set(["h=1234567", "h=; Max-Age=0", "i=; Max-Age=0"], by: "wss://two/", at: Self.now)
        #expect(names() == "deg")
    }

    @Test func `descriptions contain no cookie values`() throws {
        var jar = CookieJar()
        try jar.set(["a=s3cr3t"], by: "wss://example.com/x/y", at: Self.now)
        var dumped = ""
        dump(jar, to: &dumped)
        dump(jar.cookies, to: &dumped)
        let text = "\(jar) \(jar.cookies) \(String(reflecting: jar)) \(dumped)"
        #expect(text.contains("a for example.com/x"))
        #expect(!text.contains("s3cr3t"))
    }
}

extension CookieJar {
    fileprivate mutating func set(_ fields: [String], by origin: String, at now: Int64) throws {
        var headers: HeaderFields = [:]
        for field in fields { headers.add("Set-Cookie", field) }
        take(headers, from: try WebSocketURL(origin), at: now)
    }

    fileprivate func header(for url: String, at now: Int64) throws -> String? {
        var headers: HeaderFields = [:]
        add(to: &headers, for: try WebSocketURL(url), at: now)
        return headers["Cookie"]
    }
}
