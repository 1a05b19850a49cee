import Foundation
import Testing
import WebSocketCore

@Suite struct CookieTests {
    @Test func `a stored cookie is decoded to the same cookie`() throws {
        let cookie = try #require(
            Cookie(name: "a", value: "b c", host: "Example.COM", includesSubdomains: true, path: "/x", isHTTPOnly: true, expires: 5))
        #expect(cookie.host == "example.com")
        let session = try #require(Cookie(name: "s", value: "", host: "/run/App.sock", isSecure: false))
        #expect(session.host == "/run/App.sock")
        let stored = try JSONEncoder().encode([cookie, session])
        #expect(try JSONDecoder().decode([Cookie].self, from: stored) == [cookie, session])
    }

    @Test(
        arguments: [
            ("", "v", "h", "/"), ("a=b", "v", "h", "/"), ("a;b", "v", "h", "/"), ("a ", "v", "h", "/"), ("a", "v;w", "h", "/"),
            ("a", " v", "h", "/"), ("a", "v\r\nX: y", "h", "/"), ("a\n", "v", "h", "/"), ("a", "v", "", "/"), ("a", "v", "h", ""),
            ("a", "v", "h", "x"), ("a", "v", "h", "/\u{0}"), ("a", "v", "h\n", "/"),
        ])
    func `a cookie that a field cannot carry is refused, also when decoded`(name: String, value: String, host: String, path: String)
        throws
    {
        #expect(Cookie(name: name, value: value, host: host, path: path) == nil)
        let stored: [String: Any] = [
            "name": name, "value": value, "host": host, "path": path, "includesSubdomains": false, "isSecure": true, "isHTTPOnly": false,
        ]
        let bytes = try JSONSerialization.data(withJSONObject: stored)
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(Cookie.self, from: bytes) }
    }
}
