import Testing
import WebSocketCore

@Suite struct UnixSocketURLTests {
    @Test(
        arguments: [
            ("ws+unix:/run/app.sock", "/run/app.sock", "/", "ws+unix:/run/app.sock:/"),
            ("ws+unix:///run/app.sock:/a?token=x", "/run/app.sock", "/a?token=x", "ws+unix:/run/app.sock:/a?…"),
            ("WS+UNIX:/a%20b%3Ac%25:?q:r", "/a b:c%", "/?q:r", "ws+unix:/a%20b%3Ac%25:/?…"),
            ("wss+unix:/s:", "/s", "/", "wss+unix:/s:/"),
            ("ws+unix:/a%3Fb?token=x:y", "/a?b", "/?token=x:y", "ws+unix:/a%3Fb:/?…"),
        ])
    func `the URL of a Unix domain socket is parsed`(text: String, path: String, target: String, description: String) throws {
        let url = try WebSocketURL(text)
        #expect((url.socketPath, url.target, url.description) == (path, target, description))
        #expect((url.host, url.hostHeader) == ("localhost", "localhost"))
        #expect(url.isSecure == description.hasPrefix("wss"))
        #expect(try WebSocketURL(url.string) == url)
        #expect(try WebSocketURL(unixSocket: path, target: target, isSecure: url.isSecure) == url)
    }

    @Test(
        arguments: [
            ("ws+unix:", .invalidHost), ("ws+unix:relative", .invalidHost), ("ws+unix://host/s", .invalidHost),
            ("ws+unix:/a%zz", .invalidHost), ("ws+unix:/a%FFb", .invalidHost), ("ws+unix:/a%00b", .invalidHost),
            ("ws+unix:/s:/#f", .fragment),
            ("ws+unix:/\(String(repeating: "s", count: 103))", .invalidHost), ("wss+unix:/ü", .invalidCharacter),
        ] as [(String, URLProblem.Code)])
    func `an invalid URL of a Unix domain socket is refused`(text: String, code: URLProblem.Code) {
        #expect(#expect(throws: URLProblem.self) { try WebSocketURL(text) }?.code == code)
    }

    @Test func `a socket's path has at most 103 bytes`() throws {
        #expect(try WebSocketURL("ws+unix:/\(String(repeating: "s", count: 102))").socketPath?.utf8.count == 103)
    }
}
