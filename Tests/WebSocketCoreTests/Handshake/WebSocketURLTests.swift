import Testing
import WebSocketCore

/// RFC 6455 §3, RFC 3986 §3.
@Suite struct WebSocketURLTests {
    struct Good: Sendable {
        let text: String, isSecure: Bool, host: String, port: Int, target: String, hostHeader: String
    }

    @Test(arguments: [
        Good(text: "ws://example.com", isSecure: false, host: "example.com", port: 80, target: "/", hostHeader: "example.com"),
        Good(text: "wss://example.com/", isSecure: true, host: "example.com", port: 443, target: "/", hostHeader: "example.com"),
        Good(text: "WSS://Example.COM:443/A?B", isSecure: true, host: "example.com", port: 443, target: "/A?B", hostHeader: "example.com"),
        Good(
            text: "ws://localhost:8080?x=1", isSecure: false, host: "localhost", port: 8080, target: "/?x=1", hostHeader: "localhost:8080"),
        Good(text: "ws://h:443/a%20b", isSecure: false, host: "h", port: 443, target: "/a%20b", hostHeader: "h:443"),
        Good(text: "ws://h:/", isSecure: false, host: "h", port: 80, target: "/", hostHeader: "h"),
        Good(text: "wss://[::1]:9/", isSecure: true, host: "::1", port: 9, target: "/", hostHeader: "[::1]:9"),
        Good(
            text: "ws://[2001:DB8::192.0.2.1]", isSecure: false, host: "2001:db8::192.0.2.1", port: 80, target: "/",
            hostHeader: "[2001:db8::192.0.2.1]"),
        Good(
            text: "ws://192.0.2.1:65535//?@:?", isSecure: false, host: "192.0.2.1", port: 65535, target: "//?@:?",
            hostHeader: "192.0.2.1:65535"),
    ])
    func `a WebSocket URL is parsed`(good: Good) throws {
        let url = try WebSocketURL(good.text)
        #expect(url.isSecure == good.isSecure)
        #expect(url.host == good.host)
        #expect(url.port == good.port)
        #expect(url.target == good.target)
        #expect(url.hostHeader == good.hostHeader)
        #expect(try WebSocketURL(url.string) == url)
    }

    @Test(arguments: [
        ("", URLProblem.Code.missingScheme, "begin it with ws://"), ("example.com", .missingScheme, "begin it with ws://"),
        ("localhost:80/a", .missingScheme, "begin it with ws://"), ("ws:example.com", .missingScheme, "begin it with ws://"),
        ("//example.com", .missingScheme, "begin it with ws://"), ("a/b?u=ws://c", .missingScheme, "begin it with ws://"),
        ("http://example.com", .unsupportedScheme, "http: is not a WebSocket scheme; use ws: or wss:"),
        ("HTTPS://example.com", .unsupportedScheme, "https: is not a WebSocket scheme; use ws: or wss:"),
        ("ws://", .missingHost, "no host"), ("ws:///path", .missingHost, "no host"), ("wss://:80", .missingHost, "no host"),
        ("ws://?q", .missingHost, "no host"), ("ws://u:hunter2@h/", .userInfo, "Authorization"), ("ws://@h", .userInfo, "Authorization"),
        ("ws://h/a#b", .fragment, "%23"), ("ws://h#", .fragment, "%23"), ("ws://h/a b", .invalidCharacter, "percent-encode"),
        ("ws://h/\r\nX: y", .invalidCharacter, "percent-encode"), ("ws://h/é", .invalidCharacter, "percent-encode"),
        ("ws://h\u{0}", .invalidCharacter, "percent-encode"), ("ws://bücher.example", .invalidCharacter, "percent-encode"),
        ("ws://h:0", .invalidPort, "1...65535"), ("ws://h:65536", .invalidPort, "1...65535"), ("ws://h:-1", .invalidPort, "1...65535"),
        ("ws://h:8o", .invalidPort, "1...65535"), ("ws://h:99999999999999999999", .invalidPort, "1...65535"),
        ("ws://[::1]x", .invalidPort, "1...65535"), ("ws://::1/", .missingHost, "no host"), ("ws://a:b:1/", .invalidPort, "1...65535"),
        ("ws://[::1", .invalidHost, "no ]"), ("ws://[]", .invalidHost, "IPv6"), ("ws://[example.com]", .invalidHost, "IPv6"),
        ("ws://a%41", .invalidHost, "not a host name"), ("ws://a\\b", .invalidHost, "not a host name"),
    ])
    func `an invalid URL is refused with an error that says how to correct it`(text: String, code: URLProblem.Code, words: String) {
        do {
            let url = try WebSocketURL(text)
            Issue.record("\(url) should be refused")
        } catch {
            #expect(error.code == code)
            #expect(error.description.contains(words))
            #expect(!error.description.contains("hunter2"))
        }
    }

    @Test func `the description leaves out the query`() throws {
        #expect(try WebSocketURL("wss://h:8443/feed?token=s3cret").description == "wss://h:8443/feed?…")
        #expect(try WebSocketURL("ws://h").description == "ws://h/")
    }
}
