import Testing
import WebSocketCore

/// RFC 6455 §4.1.
@Suite struct ClientHandshakeTests {
    /// The 16 bytes of `the sample nonce`, the key of RFC 6455 §1.3.
    struct SampleNonce: RandomNumberGenerator {
        var bytes = Array("the sample nonce".utf8)
        mutating func next() -> UInt64 { UInt64(bytes.removeFirst()) &* 0x0101_0101_0101_0101 }
    }

    func handshake(
        subprotocols: [String] = ["chat", "superchat"], deflate: DeflatePreferences? = nil, headers: HeaderFields = [:]
    ) throws -> ClientHandshake {
        var generator = SampleNonce()
        let url = try WebSocketURL("ws://server.example.com/chat")
        return try ClientHandshake(url: url, subprotocols: subprotocols, deflate: deflate, headers: headers, using: &generator)
    }

    /// The answer of RFC 6455 §1.3.
    func answer(_ change: (inout HeaderFields) -> Void = { _ in }) throws -> ResponseHead {
        var head = try #require(try HandshakeFixtures.parse(ResponseHead.self, HandshakeFixtures.response))
        change(&head.headers)
        return head
    }

    @Test func `the request is the one of RFC 6455 §1.3`() throws {
        let request = try handshake(headers: ["Origin": "http://example.com"]).request
        #expect(request.method == "GET")
        #expect(request.target == "/chat")
        #expect(request.minorVersion == 1)
        #expect(
            request.headers == [
                "Host": "server.example.com", "Upgrade": "websocket", "Connection": "Upgrade",
                "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version": "13",
                "Sec-WebSocket-Protocol": "chat, superchat", "Origin": "http://example.com",
            ])
    }

    @Test func `without subprotocols and compression their fields are absent`() throws {
        let headers = try handshake(subprotocols: []).request.headers
        #expect(headers["Sec-WebSocket-Protocol"] == nil)
        #expect(headers["Sec-WebSocket-Extensions"] == nil)
    }

    @Test func `the response of RFC 6455 §1.3 is accepted`() throws {
        let agreement = try handshake().check(try answer())
        #expect(agreement.subprotocol == "chat")
        #expect(agreement.deflate == nil)
        #expect(agreement.extensions.isEmpty)
        #expect(agreement.response == (try answer()))
    }

    @Test func `a 101 without Sec-WebSocket-Accept is refused`() throws {
        let answer = try answer { $0["Sec-WebSocket-Accept"] = nil }
        #expect(throws: HandshakeFailure(.invalidAccept, "it is missing")) { try handshake().check(answer) }
    }

    @Test(arguments: [
        "", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo", "S3PPLMBITXAQ9KYGZZHZRBK+XOO=", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo= x",
        "s3pPLMBiTxaQ9kYGzzhZRb\u{212A}+xOo=", "dGhlIHNhbXBsZSBub25jZQ==",
    ])
    func `a Sec-WebSocket-Accept that does not match the key exactly is refused`(accept: String) throws {
        let answer = try answer { $0["Sec-WebSocket-Accept"] = accept }
        #expect(HandshakeFixtures.failure { _ = try handshake().check(answer) }?.kind == .invalidAccept)
    }

    @Test func `a repeated Sec-WebSocket-Accept is refused`() throws {
        let answer = try answer { $0.add("sec-websocket-accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=") }
        #expect(HandshakeFixtures.failure { _ = try handshake().check(answer) }?.kind == .invalidAccept)
    }

    @Test(arguments: [
        ("Upgrade", nil), ("Upgrade", ""), ("Upgrade", "h2c"), ("Upgrade", "websocket, h2c"), ("Upgrade", "websockets"),
        ("Connection", nil), ("Connection", "close"), ("Connection", "Upgraded"),
    ])
    func `a response that does not upgrade to websocket is refused`(name: String, value: String?) throws {
        let answer = try answer { $0[name] = value }
        #expect(HandshakeFixtures.failure { _ = try handshake().check(answer) }?.kind == .invalidUpgrade)
    }

    @Test func `the case of upgrade tokens, and other tokens beside them, do not matter`() throws {
        let answer = try answer {
            $0["Upgrade"] = "WebSocket"
            $0["Connection"] = "keep-alive, UPGRADE"
        }
        #expect(throws: Never.self) { try handshake().check(answer) }
    }

    @Test func `HTTP 1.0 cannot upgrade`() throws {
        var answer = try answer()
        answer.minorVersion = 0
        #expect(HandshakeFixtures.failure { _ = try handshake().check(answer) }?.kind == .invalidUpgrade)
    }

    @Test(arguments: [200, 301, 400, 401, 403, 404, 426, 500, 503, 999])
    func `any status but 101 is a refusal, even with valid fields`(status: Int) throws {
        var answer = try answer()
        answer.status = status
        let failure = HandshakeFixtures.failure { _ = try handshake().check(answer) }
        #expect(failure?.kind == .refused)
        #expect(failure?.detail.contains("\(status)") == true)
    }

    @Test(arguments: [["mqtt"], ["Chat"], ["chat, superchat"], ["chat", "chat"], [""], ["c\u{212A}at"]])
    func `a subprotocol that was not offered is refused`(answers: [String]) throws {
        let answer = try answer { headers in
            headers["Sec-WebSocket-Protocol"] = nil
            for answer in answers { headers.add("Sec-WebSocket-Protocol", answer) }
        }
        for offered in [["chat", "superchat", "cKat"], []] {
            let handshake = try handshake(subprotocols: offered)
            #expect(HandshakeFixtures.failure { _ = try handshake.check(answer) }?.kind == .invalidSubprotocol)
        }
    }

    @Test(arguments: [["chat, bearer.s3cr3t"], ["bearer.s3cr3t", "chat"], ["bearer.s3cr3t, chat"], ["s3cr3t"]])
    func `a failure does not contain the token that the server repeats`(answers: [String]) throws {
        let handshake = try handshake(subprotocols: ["chat", "bearer.s3cr3t"])
        let answer = try answer { headers in
            headers["Sec-WebSocket-Protocol"] = nil
            for answer in answers { headers.add("Sec-WebSocket-Protocol", answer) }
        }
        let failure = try #require(HandshakeFixtures.failure { _ = try handshake.check(answer) })
        #expect(failure == HandshakeFailure(.invalidSubprotocol, "the server chose a subprotocol that was not offered, or several"))
    }

    @Test func `descriptions of a handshake and an agreement contain no token`() throws {
        let handshake = try handshake(subprotocols: ["chat", "bearer.s3cr3t"])
        let server = try ServerHandshake(handshake.request)
        let agreement = try server.accept(subprotocol: "bearer.s3cr3t", deflate: nil)
        #expect("\(handshake) \(server)" == "GET /chat GET /chat")
        #expect("\(agreement)" == "101 Switching Protocols, subprotocol <hidden>")
        #expect("\(try server.accept(subprotocol: "chat"))" == "101 Switching Protocols, subprotocol chat")
        #expect("\([agreement]) \(agreement.response.headers)".contains("s3cr3t") == false)
    }

    @Test(arguments: [
        "permessage-foo", "x-webkit-deflate-frame", "permessage-deflate, permessage-deflate", "permessage-deflate, x",
        "permessage-deflate; x", "permessage-deflate; server_max_window_bits=16", ";", "permessage-deflate; server_max_window_bits=\"1",
    ])
    func `an extension that was not offered, or has other parameters, is refused`(answered: String) throws {
        let answer = try answer { $0["Sec-WebSocket-Extensions"] = answered }
        let handshake = try handshake(deflate: DeflatePreferences())
        #expect(HandshakeFixtures.failure { _ = try handshake.check(answer) }?.kind == .invalidExtension)
    }

    @Test func `compression that was not offered is refused`() throws {
        let answer = try answer { $0["Sec-WebSocket-Extensions"] = "permessage-deflate" }
        #expect(HandshakeFixtures.failure { _ = try handshake().check(answer) }?.kind == .invalidExtension)
    }

    @Test func `compression that was offered is accepted`() throws {
        let handshake = try handshake(deflate: DeflatePreferences())
        #expect(handshake.request.headers["Sec-WebSocket-Extensions"] == "permessage-deflate; client_max_window_bits")
        let answer = try answer { $0["Sec-WebSocket-Extensions"] = "permessage-deflate;client_max_window_bits=\"10\"" }
        let agreement = try handshake.check(answer)
        #expect(agreement.deflate == DeflateParameters(clientMaxWindowBits: 10))
        #expect(agreement.extensions == ["permessage-deflate; client_max_window_bits=10"])
    }

    @Test(arguments: [
        "Upgrade", "connection", "Sec-WebSocket-Key", "sec-websocket-version", "SEC-WEBSOCKET-PROTOCOL", "Sec-WebSocket-Extensions",
        "Sec-WebSocket-Future", "Content-Length", "Transfer-Encoding", "X Y", "X\r\nY", "",
    ])
    func `reserved handshake fields and invalid names cannot be set`(name: String) {
        #expect(HandshakeFixtures.failure { _ = try handshake(headers: [name: "x"]) }?.kind == .invalidHeader)
    }

    @Test func `header injection through a value fails before the request is sent`() {
        #expect(HandshakeFixtures.failure { _ = try handshake(headers: ["X": "a\r\nY: b"]) }?.kind == .invalidHeader)
    }

    @Test func `Host can be replaced once`() throws {
        #expect(try handshake(headers: ["host": "other"]).request.headers.values("Host") == ["other"])
        #expect(HandshakeFixtures.failure { _ = try handshake(headers: ["Host": "a", "host": "b"]) }?.kind == .invalidHeader)
    }

    @Test(arguments: [["a b"], [""], ["a,b"], ["a", "a"], ["é"], ["a\r\nb"]])
    func `subprotocols must be tokens without repeats`(names: [String]) {
        #expect(HandshakeFixtures.failure { _ = try handshake(subprotocols: names) }?.kind == .invalidSubprotocol)
    }

    @Test func `a failure does not name an invalid subprotocol, because it may contain a token`() {
        let failure = HandshakeFixtures.failure { _ = try handshake(subprotocols: ["chat", "s3cr3t token"]) }
        #expect(failure?.detail == "number 2 of the offered subprotocols is not a token, or is repeated")
    }
}
