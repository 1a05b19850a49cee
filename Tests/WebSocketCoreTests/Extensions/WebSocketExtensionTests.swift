import Testing
import WebSocketCore

/// RFC 6455 §9.1.
@Suite struct WebSocketExtensionTests {
    @Test(arguments: [
        ("foo", ["foo"]), ("foo, bar; baz=2", ["foo", "bar; baz=2"]), ("foo; bar; baz", ["foo; bar; baz"]),
        (" foo ;\tbar = baz , ", ["foo; bar=baz"]), ("foo;bar=\"b\\az\"", ["foo; bar=baz"]), (",,foo,,", ["foo"]), ("", []), (" , ", []),
        ("foo; a=1; a=2, foo", ["foo; a=1; a=2", "foo"]),
    ])
    func `a list of extensions is parsed`(line: String, elements: [String]) throws {
        #expect(try WebSocketExtension.parse(["Sec-WebSocket-Extensions": line]).map(\.headerValue) == elements)
    }

    @Test func `a list may be split over several header fields`() throws {
        let headers: HeaderFields = ["Sec-WebSocket-Extensions": "a", "X": "y", "sec-websocket-extensions": "b; c=d"]
        #expect(try WebSocketExtension.parse(headers) == [.init("a"), .init("b", [.init("c", "d")])])
        #expect(try WebSocketExtension.parse([:]).isEmpty)
    }

    @Test(arguments: [
        ";", "foo;", "foo; =1", "foo; a=", "foo; a=\"", "foo; a=\"b", "foo; a=\"b\\", "foo; a=\"\"", "foo; a=\"b c\"", "foo; a=\"b,c\"",
        "foo bar", "foo; a b", "foo=1", "foo; a=b=c", "foo; a=\"b\"c", "f(o", "é", "foo; a=\"é\"",
    ])
    func `an invalid list is refused`(line: String) {
        let failure = HandshakeFixtures.failure { _ = try WebSocketExtension.parse(["Sec-WebSocket-Extensions": line]) }
        #expect(failure?.kind == .invalidExtension)
    }
}
