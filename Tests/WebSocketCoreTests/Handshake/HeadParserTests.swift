import Testing
import WebSocketCore

/// RFC 9112 §2 to §5.
@Suite struct HeadParserTests {
    @Test func `a head is parsed at every split point, and the bytes after it are left unread`() throws {
        let bytes = Array(HandshakeFixtures.request.utf8)
        for split in 0..<bytes.count {
            let pieces = [Array(bytes[..<split]), Array(bytes[split...]) + [0x81, 0x00]]
            let found = try #require(try HandshakeFixtures.parse(RequestHead.self, pieces))
            #expect(found.rest == 2)
            #expect(found.head.target == "/chat")
            #expect(found.head.headers.count == 7)
            #expect(found.head.headers["host"] == "server.example.com")
        }
        let single = try HandshakeFixtures.parse(RequestHead.self, bytes.map { [$0] })
        #expect(single?.head.headers["Sec-WebSocket-Version"] == "13")
    }

    @Test func `an incomplete head needs more bytes`() throws {
        let bytes = Array(HandshakeFixtures.response.utf8)
        for length in 0..<bytes.count {
            #expect(try HandshakeFixtures.parse(ResponseHead.self, [Array(bytes[..<length])]) == nil)
        }
    }

    @Test func `consecutive heads are parsed one by one`() throws {
        var parser = HeadParser<ResponseHead>()
        let bytes = Array(("HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n" + HandshakeFixtures.response).utf8)
        try bytes.withUnsafeBytes { buffer in
            var rest = buffer
            let hint = try #require(try parser.parse(&rest))
            #expect(hint.isInterim)
            let head = try #require(try parser.parse(&rest))
            #expect(head.status == 101)
            #expect(head.headers["Link"] == nil)
            #expect(rest.isEmpty)
        }
    }

    @Test(arguments: [
        "GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n", "GET / HTTP/1.1\r\n A: b\r\n\r\n", "GET / HTTP/1.1\r\nA : b\r\n\r\n",
        "GET / HTTP/1.1\r\n: b\r\n\r\n", "GET / HTTP/1.1\r\nA\r\n\r\n", "GET / HTTP/1.1\r\nA: b\rc\r\n\r\n",
        "GET / HTTP/1.1\r\nA: b\0\r\n\r\n",
        "GET / HTTP/1.1\r\nÄ: b\r\n\r\n", "GET / HTTP/1.1\nA: b\n\n", "GET / HTTP/1.1\r\nA: b\n\r\n", "GET / HTTP/1.1\r\r\n\r\n",
        "GET / HTTP/1.1\r\nA(): b\r\n\r\n", "\r\nGET / HTTP/1.1\r\n\r\n", "GET  / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1 \r\n\r\n",
        "GET /\r\n\r\n", "GET /\tx HTTP/1.1\r\n\r\n", "G@T / HTTP/1.1\r\n\r\n", "GET / FTP/1.1\r\n\r\n", "GET /é HTTP/1.1\r\n\r\n",
        "GET / http/1.1\r\n\r\n", "\u{16}\u{3}\u{1}",
    ])
    func `a malformed request is refused with 400`(text: String) {
        let failure = HandshakeFixtures.failure { _ = try HandshakeFixtures.parse(RequestHead.self, text) }
        #expect(failure?.kind == .malformedHead)
        #expect(failure?.refusal?.status == 400)
    }

    @Test(arguments: [
        "HTTP/1.1\r\n\r\n", "HTTP/1.1 \r\n\r\n", "HTTP/1.1 10\r\n\r\n", "HTTP/1.1 1010 x\r\n\r\n", "HTTP/1.1 099 x\r\n\r\n",
        "HTTP/1.1  101 x\r\n\r\n", "HTTP/1.1 1o1 x\r\n\r\n", "HTTP/1.1 -11 x\r\n\r\n", "ICY 200 OK\r\n\r\n", "\r\n\r\n",
    ])
    func `a malformed response is refused`(text: String) {
        #expect(HandshakeFixtures.failure { _ = try HandshakeFixtures.parse(ResponseHead.self, text) }?.kind == .malformedHead)
    }

    @Test(arguments: ["GET / HTTP/2.0\r\n\r\n", "GET / HTTP/0.9\r\n\r\n", "GET / HTTP/1.10\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"])
    func `another version of HTTP is refused with 505`(text: String) {
        let failure = HandshakeFixtures.failure { _ = try HandshakeFixtures.parse(RequestHead.self, text) }
        #expect(failure?.kind == .unsupportedHTTPVersion)
        #expect(failure?.refusal?.status == 505)
    }

    @Test func `the reason of a status line is optional`() throws {
        #expect(try HandshakeFixtures.parse(ResponseHead.self, "HTTP/1.1 204\r\n\r\n")?.status == 204)
        #expect(try HandshakeFixtures.parse(ResponseHead.self, "HTTP/1.0 204 \r\n\r\n")?.minorVersion == 0)
    }

    @Test func `a head may be as long as the limit but no longer`() throws {
        let bytes = Array(HandshakeFixtures.request.utf8)
        #expect(try HandshakeFixtures.parse(RequestHead.self, [bytes], limit: bytes.count) != nil)
        let failure = HandshakeFixtures.failure { _ = try HandshakeFixtures.parse(RequestHead.self, [bytes], limit: bytes.count - 1) }
        #expect(failure?.kind == .headTooLarge)
        #expect(failure?.refusal?.status == 431)
    }

    @Test(arguments: ["a", "a: b\r\n"])
    func `an endless head is refused at the limit, and its bytes are not kept`(piece: String) {
        var parser = HeadParser<RequestHead>(limit: 4096)
        let flood = Array(("GET / HTTP/1.1\r\n" + String(repeating: piece, count: 100_000)).utf8)
        flood.withUnsafeBytes { buffer in
            var rest = buffer
            #expect(throws: HandshakeFailure(.headTooLarge, "more than 4096 bytes")) { try parser.parse(&rest) }
            #expect(buffer.count - rest.count == 4097, "the remaining bytes are not read")
            #expect(throws: HandshakeFailure(.headTooLarge, "more than 4096 bytes"), "the error is repeated") { try parser.parse(&rest) }
            #expect(buffer.count - rest.count == 4097)
        }
    }
}
