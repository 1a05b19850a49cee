import Testing
import WebSocketCore

/// RFC 9112 §3 and §4: start lines, and the rules for writing.
@Suite struct MessageHeadTests {
    @Test(arguments: [
        ("/", "/", nil), ("/chat?room=1?2", "/chat", "room=1?2"), ("/?", "/", ""), ("http://example.com/a/b?c", "/a/b", "c"),
        ("ws://example.com", "/", nil), ("ws://example.com?q", "/", "q"), ("/a?u=http://b/c", "/a", "u=http://b/c"), ("*", "*", nil),
    ])
    func `a target has a path and an optional query`(target: String, path: String, query: String?) {
        let head = RequestHead(target: target)
        #expect(head.path == path)
        #expect(head.query == query)
    }

    @Test(arguments: [
        ("/", "a", true), ("/?u=http://b/", "a", true), ("http://A:80/b", "a:80", true), ("ws://a?b", "a", true), ("*", "a", true),
        ("http://b/", "a", false), ("http://a:80/", "a", false), ("http://b@a/", "a", false), ("http://a/", nil, false),
    ])
    func `an absolute target must name the server of the Host field`(target: String, host: String?, isValid: Bool) {
        var headers = HeaderFields()
        if let host { headers.add("Host", host) }
        let failure = HandshakeFixtures.failure { try RequestHead(target: target, headers: headers).checkTarget() }
        #expect(failure?.kind == (isValid ? nil : .malformedHead) && failure?.refusal?.status == (isValid ? nil : 400))
    }

    @Test func `a written head is parsed to the same head`() throws {
        let request = RequestHead(method: "POST", target: "/a?b", minorVersion: 0, headers: ["X": "", "x": "a  b;é"])
        #expect(try HandshakeFixtures.parse(RequestHead.self, [request.encoded()])?.head == request)
        let response = ResponseHead(status: 418, reason: "I'm a teapot", headers: ["Retry-After": "never"])
        #expect(try HandshakeFixtures.parse(ResponseHead.self, [response.encoded()])?.head == response)
    }

    @Test(arguments: [
        ("X", "a\r\nInjected: yes"), ("X", "a\nb"), ("X", "a\rb"), ("X", "a\0b"), ("X", "\u{7F}"), ("X\r\nInjected", "a"), ("X Y", "a"),
        ("X:", "a"), ("", "a"), ("É", "a"), ("X\u{301}", "a"),
    ])
    func `a header field that would inject a line is not written`(name: String, value: String) {
        var headers = HeaderFields()
        headers.add(name, value)
        let writers: [() throws -> Void] = [
            { _ = try RequestHead(target: "/", headers: headers).encoded() },
            { _ = try ResponseHead(status: 200, headers: headers).encoded() },
        ]
        for write in writers { #expect(HandshakeFixtures.failure(write)?.kind == .invalidHeader) }
    }

    @Test(arguments: ["/ HTTP/1.1\r\nX: y", "/a b", "", "/é"])
    func `a target that would inject a line is not written`(target: String) {
        #expect(HandshakeFixtures.failure { _ = try RequestHead(target: target).encoded() }?.kind == .invalidHeader)
        #expect(HandshakeFixtures.failure { _ = try RequestHead(method: target, target: "/").encoded() }?.kind == .invalidHeader)
    }

    @Test func `a reason that would inject a line is not written`() {
        #expect(HandshakeFixtures.failure { _ = try ResponseHead(status: 200, reason: "\r\nX: y").encoded() }?.kind == .invalidHeader)
        #expect(HandshakeFixtures.failure { _ = try ResponseHead(status: 99).encoded() }?.kind == .invalidHeader)
    }

    @Test func `interim responses are distinguished from 101 and final ones`() {
        #expect([100, 101, 102, 103, 199, 200, 401].filter { ResponseHead(status: $0).isInterim } == [100, 102, 103, 199])
    }
}
