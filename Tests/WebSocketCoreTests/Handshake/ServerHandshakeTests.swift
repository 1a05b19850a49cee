import Testing
import WebSocketCore

/// RFC 6455 §4.2.
@Suite struct ServerHandshakeTests {
    /// The request of RFC 6455 §1.2.
    func request(_ change: (inout RequestHead) -> Void = { _ in }) throws -> RequestHead {
        var head = try #require(try HandshakeFixtures.parse(RequestHead.self, HandshakeFixtures.request))
        change(&head)
        return head
    }

    @Test func `the request of RFC 6455 §1.2 gets the answer of RFC 6455 §1.3`() throws {
        let handshake = try ServerHandshake(try request())
        #expect(handshake.offeredSubprotocols == ["chat", "superchat"])
        let agreement = try handshake.accept(subprotocol: "chat")
        #expect(try agreement.response.encoded() == Array(HandshakeFixtures.response.utf8))
        #expect(agreement.subprotocol == "chat")
        #expect(agreement.deflate == nil)
    }

    @Test func `a plain HTTP request is distinguished, so that a server can answer it`() throws {
        let plain = try #require(try HandshakeFixtures.parse(RequestHead.self, "GET /health HTTP/1.1\r\nHost: a\r\n\r\n"))
        let failure = HandshakeFixtures.failure { _ = try ServerHandshake(plain) }
        #expect(failure?.kind == .notAnUpgrade)
        #expect(failure?.refusal?.status == 426)
        #expect(failure?.refusal?.headers["Upgrade"] == "websocket")
        for (name, value) in [("Upgrade", "h2c"), ("Upgrade", "websocketx"), ("Upgrade", "")] {
            let other = try request { $0.headers[name] = value }
            #expect(HandshakeFixtures.failure { _ = try ServerHandshake(other) }?.kind == .notAnUpgrade)
        }
        let old = try request { $0.minorVersion = 0 }
        #expect(HandshakeFixtures.failure { _ = try ServerHandshake(old) }?.kind == .notAnUpgrade, "RFC 9110 §7.8")
    }

    @Test(arguments: [
        ("Connection", nil), ("Connection", "keep-alive"), ("Host", nil), ("Sec-WebSocket-Key", nil), ("Sec-WebSocket-Key", ""),
        ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25j"), ("Sec-WebSocket-Protocol", "a b"), ("Sec-WebSocket-Protocol", "a, a"),
        ("Sec-WebSocket-Extensions", ";"), ("Content-Length", "5"), ("Content-Length", "x"), ("Transfer-Encoding", "chunked"),
    ])
    func `an invalid upgrade request is refused with 400`(name: String, value: String?) throws {
        let bad = try request { $0.headers[name] = value }
        let failure = HandshakeFixtures.failure { _ = try ServerHandshake(bad) }
        #expect(failure?.kind == .invalidRequest)
        #expect(failure?.refusal?.status == 400)
    }

    @Test(arguments: [("Host", "b"), ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")])
    func `Host and Sec-WebSocket-Key may not be repeated`(name: String, value: String) throws {
        let bad = try request { $0.headers.add(name, value) }
        #expect(HandshakeFixtures.failure { _ = try ServerHandshake(bad) }?.kind == .invalidRequest)
    }

    @Test(arguments: [nil, "", "0", "8", "12", "14", "013", "13, 8", "x"])
    func `another version is refused with 426 and the supported version`(version: String?) throws {
        let bad = try request { $0.headers["Sec-WebSocket-Version"] = version }
        let failure = HandshakeFixtures.failure { _ = try ServerHandshake(bad) }
        #expect(failure?.kind == .unsupportedVersion)
        #expect(failure?.refusal?.status == 426)
        #expect(failure?.refusal?.headers["Sec-WebSocket-Version"] == "13")
    }

    @Test func `a repeated version is refused`() throws {
        let bad = try request { $0.headers.add("Sec-WebSocket-Version", "13") }
        #expect(HandshakeFixtures.failure { _ = try ServerHandshake(bad) }?.kind == .unsupportedVersion)
    }

    @Test(arguments: ["POST", "get", "HEAD", "CONNECT"])
    func `another method is refused with 405`(method: String) throws {
        let bad = try request { $0.method = method }
        let failure = HandshakeFixtures.failure { _ = try ServerHandshake(bad) }
        #expect(failure?.kind == .invalidMethod)
        #expect(failure?.refusal?.status == 405)
        #expect(failure?.refusal?.headers["Allow"] == "GET")
    }

    @Test func `fields that browsers and proxies add are accepted`() throws {
        let request = try request {
            $0.target = "http://server.example.com/chat"
            $0.headers["Connection"] = "keep-alive, Upgrade"
            $0.headers["Upgrade"] = "WebSocket"
            $0.headers["Content-Length"] = "0"
            $0.headers["Sec-WebSocket-Protocol"] = ",chat,"
            $0.headers.add("Sec-WebSocket-Protocol", "mqtt")
        }
        #expect(try ServerHandshake(request).offeredSubprotocols == ["chat", "mqtt"])
    }

    @Test func `only offered subprotocols and extensions can be chosen`() throws {
        let handshake = try ServerHandshake(try request())
        let failure = try #require(HandshakeFixtures.failure { _ = try handshake.accept(subprotocol: "bearer.s3cr3t") })
        #expect(failure.kind == .invalidSubprotocol && !"\(failure)".contains("s3cr3t"))
        let agreement = try handshake.accept(deflate: DeflatePreferences())
        #expect(agreement.deflate == nil)
        #expect(agreement.subprotocol == nil)
        #expect(agreement.response.headers["Sec-WebSocket-Extensions"] == nil)
        #expect(agreement.response.headers["Sec-WebSocket-Protocol"] == nil)
    }

    @Test func `compression is used if both sides want it`() throws {
        let handshake = try ServerHandshake(
            try request { $0.headers["Sec-WebSocket-Extensions"] = "x-other; a=\"b\", permessage-deflate; client_max_window_bits" })
        #expect(try handshake.accept().deflate == nil)
        let agreement = try handshake.accept(deflate: DeflatePreferences(clientMaxWindowBits: 11))
        #expect(agreement.deflate == DeflateParameters(clientMaxWindowBits: 11))
        #expect(agreement.response.headers["Sec-WebSocket-Extensions"] == "permessage-deflate; client_max_window_bits=11")
        #expect(agreement.extensions == ["permessage-deflate; client_max_window_bits=11"])
    }

    @Test(arguments: [
        "Upgrade", "connection", "Sec-WebSocket-Accept", "sec-websocket-extensions", "Content-Length", "Transfer-Encoding", "X\nY",
    ])
    func `reserved handshake fields and invalid names cannot be set`(name: String) throws {
        let handshake = try ServerHandshake(try request())
        #expect(HandshakeFixtures.failure { _ = try handshake.accept(headers: [name: "x"]) }?.kind == .invalidHeader)
        #expect(try handshake.accept(headers: ["Set-Cookie": "a=b"]).response.headers["set-cookie"] == "a=b")
    }

    @Test func `every refusal can be written and parsed`() throws {
        let kinds: [HandshakeFailure.Kind] = [
            .malformedHead, .headTooLarge, .unsupportedHTTPVersion, .notAnUpgrade, .invalidMethod, .invalidRequest, .unsupportedVersion,
            .invalidHeader, .invalidSubprotocol,
        ]
        for kind in kinds {
            let refusal = try #require(HandshakeFailure(kind, "").refusal)
            #expect(!refusal.reason.isEmpty)
            #expect(refusal.headers["Content-Length"] == "0")
            #expect(try HandshakeFixtures.parse(ResponseHead.self, [refusal.encoded()])?.head == refusal)
        }
    }

    @Test(arguments: 0..<200)
    func `our client and our server complete a handshake with random options`(seed: UInt64) throws {
        var generator = HandshakeSeed(state: seed)
        let offered = Array(["a", "b", "c"].shuffled(using: &generator).prefix(Int.random(in: 0...3, using: &generator)))
        let client = try ClientHandshake(
            url: try WebSocketURL("wss://[::1]:8443/x?y"), subprotocols: offered, deflate: Bool.random(using: &generator) ? .init() : nil,
            headers: ["X-Seed": "\(seed)"], using: &generator)
        let request = try #require(try HandshakeFixtures.parse(RequestHead.self, [client.request.encoded()])?.head)
        #expect(request == client.request)
        let server = try ServerHandshake(request)
        #expect(server.offeredSubprotocols == offered)
        let agreed = try server.accept(subprotocol: offered.randomElement(using: &generator), deflate: .init())
        let response = try #require(try HandshakeFixtures.parse(ResponseHead.self, [agreed.response.encoded()])?.head)
        #expect(try client.check(response) == agreed)
    }
}
